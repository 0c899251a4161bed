//! The files of a source tree that can become modules, ready to be asked for.
//!
//! The files are kept sorted, so that a question about one directory costs what
//! that directory holds: a stranger decides how many files and questions there
//! are.

use super::modules::{Module, ModuleKind, importable};

pub(super) struct SourceTree {
    /// Sorted; Cython's files under the name they are built to.
    code: Vec<String>,
    /// The topmost directories, sorted, whatever is in them.
    directories: Vec<String>,
    has_native_source: bool,
}

impl SourceTree {
    pub(super) fn new(files: &[&str]) -> Self {
        let built = |path: &&str| match path.strip_suffix(".pyx") {
            Some(stem) => format!("{stem}.so"),
            None => (*path).to_owned(),
        };
        let mut code: Vec<String> = files
            .iter()
            .map(built)
            .filter(|path| is_code(path))
            .collect();
        code.sort_unstable();
        code.dedup();
        let tops = files.iter().filter_map(|path| path.split_once('/'));
        let mut directories: Vec<String> = tops.map(|(top, _)| top.to_owned()).collect();
        directories.sort_unstable();
        directories.dedup();
        let has_native_source = files.iter().any(|path| is_native_source(path));
        SourceTree {
            code,
            directories,
            has_native_source,
        }
    }

    pub(super) fn has_directory(&self, name: &str) -> bool {
        self.directories
            .binary_search_by(|known| known.as_str().cmp(name))
            .is_ok()
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.code
            .binary_search_by(|known| known.as_str().cmp(path))
            .is_ok()
    }

    /// Whether a directory, or the top for an empty name, is a package itself.
    pub(super) fn has_init(&self, directory: &str) -> bool {
        self.has_file(&format!("{}__init__.py", prefix_of(directory)))
    }

    /// Whether there is anything a compiler would be needed for.
    pub(super) fn has_native_source(&self) -> bool {
        self.has_native_source
    }

    /// The directory that holds the topmost package of that name.
    pub(super) fn parent_of_package(&self, name: &str) -> Option<&str> {
        let init = format!("/{}/__init__.py", name.replace('.', "/"));
        let parents = self.code().filter_map(|path| path.strip_suffix(&init));
        parents.min_by_key(|parent| parent.matches('/').count())
    }

    /// The files whose path begins like this.
    pub(super) fn starting(&self, prefix: &str) -> &[String] {
        let from = self.code.partition_point(|path| path.as_str() < prefix);
        let count = self.code[from..].partition_point(|path| path.starts_with(prefix));
        &self.code[from..from + count]
    }

    /// All files that can become modules.
    pub(super) fn code(&self) -> impl Iterator<Item = &str> {
        self.code.iter().map(String::as_str)
    }

    /// All modules below a directory of the import path.
    pub(super) fn modules_in(&self, root: &str) -> Vec<Module> {
        let prefix = prefix_of(root);
        real(
            self.starting(&prefix)
                .iter()
                .map(|path| &path[prefix.len()..]),
        )
    }

    /// The modules of one top-level name below a directory of the import path.
    pub(super) fn modules_of(&self, root: &str, name: &str) -> Vec<Module> {
        let prefix = prefix_of(root);
        let start = format!("{prefix}{}", name.replace('.', "/"));
        let files = ["/", "."].map(|next| self.starting(&format!("{start}{next}")));
        real(
            files
                .into_iter()
                .flatten()
                .map(|path| &path[prefix.len()..]),
        )
    }
}

fn real<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<Module> {
    importable(paths)
        .into_iter()
        .filter(|module| module.kind != ModuleKind::Stub)
        .collect()
}

/// A directory as the beginning of a path.
fn prefix_of(directory: &str) -> String {
    if directory.is_empty() {
        String::new()
    } else {
        format!("{directory}/")
    }
}

/// Only what can become a module is looked at; trees are mostly something else.
fn is_code(path: &str) -> bool {
    [".py", ".pyi", ".so", ".pyd", ".pyc"]
        .iter()
        .any(|suffix| path.ends_with(suffix))
}

fn is_native_source(path: &str) -> bool {
    const NATIVE: [&str; 11] = [
        "c", "cc", "cpp", "cxx", "pyx", "rs", "f", "f90", "cu", "m", "go",
    ];
    path.rsplit_once('.')
        .is_some_and(|(_, suffix)| NATIVE.contains(&suffix))
}
