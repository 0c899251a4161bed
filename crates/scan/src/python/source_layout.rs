//! Which of a source tree's files will be importable once it is installed.
//!
//! A build could do anything; these are the layouts people use. What a project
//! declares goes first (`top_level.txt`, the build tool's own settings), then a
//! `src` directory, then packages beside `setup.py`, then modules beside it. A
//! tree that fits none of them gives its topmost packages, wherever they are.

use std::collections::BTreeSet;

use super::modules::{Module, ModuleKind, importable, is_identifier};

/// What is known about a source tree besides its files.
pub(super) struct Layout<'a> {
    /// The normalised name of the project.
    pub(super) project: &'a str,
    /// `top_level.txt`: complete where it exists.
    pub(super) declared: &'a [String],
    /// Top-level names from the build tool's settings.
    pub(super) packages: &'a [String],
    /// Directories the build tool puts on the import path.
    pub(super) roots: &'a [String],
    /// Without further word, the build tool takes the package of the project's
    /// name and nothing else.
    pub(super) own_name_only: bool,
    /// A module built from Rust, dotted.
    pub(super) native: Option<&'a str>,
}

/// The modules of a source tree, from the paths of its files.
pub(super) fn source_modules(files: &[&str], layout: &Layout<'_>) -> Vec<Module> {
    // Cython's files become native modules of the same name.
    let files: Vec<String> = files
        .iter()
        .map(|path| {
            path.strip_suffix(".pyx")
                .map_or_else(|| (*path).to_owned(), |stem| format!("{stem}.so"))
        })
        .collect();
    let all = files.iter().map(String::as_str);
    let tree = Tree {
        directories: all
            .clone()
            .filter_map(|path| path.split_once('/'))
            .map(|(top, _)| top)
            .collect(),
        files: all.filter(|path| is_code(path)).collect(),
    };
    let found = match (layout.native, layout.declared) {
        (Some(native), []) => tree.around(native, layout),
        (_, []) => tree.guessed(layout),
        (_, declared) => tree.named(declared, layout, true),
    };
    merged(found)
}

struct Tree<'a> {
    /// Files that can become modules.
    files: Vec<&'a str>,
    /// The topmost directories, whatever is in them.
    directories: BTreeSet<&'a str>,
}

impl Tree<'_> {
    /// The modules below the given top-level names. With `insist`, a name that
    /// has no file yet counts all the same, since it will be built; a directory
    /// of that name without a module in it shows that it will not.
    fn named(&self, names: &[String], layout: &Layout<'_>, insist: bool) -> Vec<Module> {
        let mut found = Vec::new();
        for name in names {
            let here = self
                .root_of(name, layout)
                .map(|root| self.below(root, name))
                .unwrap_or_default();
            let built = !self.directories.contains(name.as_str())
                && name != "__init__"
                && name.split('.').all(is_identifier);
            if here.is_empty() && insist && built {
                found.push(Module {
                    name: name.clone(),
                    kind: ModuleKind::Extension,
                });
            }
            found.extend(here);
        }
        found
    }

    /// A native module and the Python package it is part of, if there is one.
    fn around(&self, native: &str, layout: &Layout<'_>) -> Vec<Module> {
        let top = native.split('.').next().unwrap_or(native).to_owned();
        let mut names = layout.packages.to_vec();
        names.push(top.clone());
        let mut found = self.named(&names, layout, false);
        let has_package = found.iter().any(|module| module.name == top);
        // Beside a package of its own name, the native module moves into it.
        let native = if has_package && native == top {
            format!("{top}.{top}")
        } else {
            native.to_owned()
        };
        found.extend(native_module(&native));
        found
    }

    fn guessed(&self, layout: &Layout<'_>) -> Vec<Module> {
        let own = layout.project.replace('-', "_");
        let mut names = layout.packages.to_vec();
        if names.is_empty() && layout.roots.is_empty() && layout.own_name_only {
            names.push(own.clone());
        }
        let named = self.named(&names, layout, false);
        if !named.is_empty() {
            return named;
        }
        let roots = layout.roots.iter().map(String::as_str).chain(["src"]);
        for root in roots {
            let found = self.in_root(root);
            if !found.is_empty() {
                return found;
            }
        }
        let found = self.flat(&own);
        if found.is_empty() {
            self.topmost()
        } else {
            found
        }
    }

    /// All of a directory that holds nothing but what will be installed.
    fn in_root(&self, root: &str) -> Vec<Module> {
        let prefix = format!("{root}/");
        // `src/__init__.py` makes `src` itself a package.
        if self.files.iter().any(|path| {
            path.strip_prefix(&prefix)
                .is_some_and(|rest| rest == "__init__.py")
        }) {
            return Vec::new();
        }
        let below = importable(
            self.files
                .iter()
                .filter_map(|path| path.strip_prefix(&prefix)),
        );
        below
            .into_iter()
            .filter(|module| module.kind != ModuleKind::Stub)
            .collect()
    }

    /// Packages, else modules, beside `setup.py`.
    fn flat(&self, own: &str) -> Vec<Module> {
        let tops: BTreeSet<&str> = self
            .files
            .iter()
            .filter_map(|path| path.split_once('/'))
            .map(|(top, _)| top)
            .collect();
        let has_init = |top: &str| {
            let init = format!("{top}/__init__.");
            self.files.iter().any(|path| path.starts_with(&init))
        };
        let wanted = |top: &&&str| **top == own || !is_aside(top);
        let mut names: Vec<&str> = tops
            .iter()
            .filter(wanted)
            .filter(|top| has_init(top))
            .copied()
            .collect();
        let modules = self.files.iter().filter(|path| !path.contains('/'));
        let stems = modules
            .filter_map(|path| path.split_once('.'))
            .map(|(stem, _)| stem);
        let beside: BTreeSet<&str> = stems
            .filter(|stem| *stem == own || !is_script(stem))
            .collect();
        if names.is_empty() {
            names.extend(beside);
        } else if beside.contains(own) && !names.contains(&own) {
            names.push(own);
        }
        names.iter().flat_map(|name| self.below("", name)).collect()
    }

    /// The topmost directories with Python files, each as a package.
    fn topmost(&self) -> Vec<Module> {
        let directories: BTreeSet<&str> = self
            .files
            .iter()
            .filter_map(|path| path.rsplit_once('/'))
            .map(|(directory, _)| directory)
            .collect();
        let above = |directory: &str| {
            directory
                .match_indices('/')
                .any(|(at, _)| directories.contains(&directory[..at]))
        };
        let mut found = Vec::new();
        for directory in directories.iter().filter(|directory| !above(directory)) {
            if directory.split('/').any(is_aside) {
                continue;
            }
            let (root, name) = directory.rsplit_once('/').unwrap_or(("", directory));
            found.extend(self.below(root, name));
        }
        found
    }

    /// The directory that holds a top-level name: one with a proper module of
    /// that name, else one with anything of that name.
    fn root_of<'l>(&self, name: &str, layout: &Layout<'l>) -> Option<&'l str> {
        let path = name.replace('.', "/");
        let roots = || {
            layout
                .roots
                .iter()
                .map(String::as_str)
                .chain(["", "src", "lib", "python"])
        };
        let start = |root: &str| {
            if root.is_empty() {
                path.clone()
            } else {
                format!("{root}/{path}")
            }
        };
        let proper = |root: &&str| {
            let start = start(root);
            let ends = [".py", "/__init__.py", "/__init__.pyc", "/__init__.so"];
            self.any(|file| {
                file.strip_prefix(&start)
                    .is_some_and(|rest| ends.contains(&rest))
            })
        };
        let vague = |root: &&str| {
            let start = start(root);
            self.any(|file| {
                file.strip_prefix(&start)
                    .is_some_and(|rest| rest.starts_with(['/', '.']))
            })
        };
        roots().find(proper).or_else(|| roots().find(vague))
    }

    fn any(&self, wanted: impl Fn(&str) -> bool) -> bool {
        self.files.iter().any(|file| wanted(file))
    }

    /// Modules of the import path `root` that begin with `name`.
    fn below(&self, root: &str, name: &str) -> Vec<Module> {
        let prefix = if root.is_empty() {
            String::new()
        } else {
            format!("{root}/")
        };
        let start = name.replace('.', "/");
        let wanted = |path: &&str| {
            path.strip_prefix(&start)
                .is_some_and(|rest| rest.starts_with(['/', '.']))
        };
        let files = self
            .files
            .iter()
            .filter_map(|path| path.strip_prefix(&prefix))
            .filter(wanted);
        importable(files)
            .into_iter()
            .filter(|module| module.kind != ModuleKind::Stub)
            .collect()
    }
}

/// Only what can become a module is looked at; trees are mostly something else.
fn is_code(path: &str) -> bool {
    [".py", ".pyi", ".so", ".pyd", ".pyc"]
        .iter()
        .any(|suffix| path.ends_with(suffix))
}

/// A dotted name with the packages above it.
fn native_module(name: &str) -> Vec<Module> {
    if !name.split('.').all(is_identifier) {
        return Vec::new();
    }
    let parents = name.match_indices('.').map(|(at, _)| Module {
        name: name[..at].to_owned(),
        kind: ModuleKind::Package,
    });
    parents
        .chain([Module {
            name: name.to_owned(),
            kind: ModuleKind::Extension,
        }])
        .collect()
}

fn merged(mut found: Vec<Module>) -> Vec<Module> {
    found.sort_by(|a, b| a.name.cmp(&b.name).then(b.kind.cmp(&a.kind)));
    found.dedup_by(|later, first| later.name == first.name);
    found
}

/// Directories beside the packages that are not installed.
fn is_aside(directory: &str) -> bool {
    const ASIDE: [&str; 30] = [
        "test",
        "tests",
        "testing",
        "unit_test",
        "unit_tests",
        "doc",
        "docs",
        "documentation",
        "example",
        "examples",
        "sample",
        "samples",
        "demo",
        "demos",
        "script",
        "scripts",
        "extra",
        "extras",
        "tool",
        "tools",
        "bin",
        "ci",
        "build",
        "debian",
        "benchmark",
        "benchmarks",
        "tasks",
        "site_scons",
        "htmlcov",
        "changelog",
    ];
    directory.starts_with('.') || ASIDE.contains(&directory.to_lowercase().as_str())
}

/// Files beside `setup.py` that are not installed.
fn is_script(stem: &str) -> bool {
    const SCRIPTS: [&str; 20] = [
        "setup",
        "conftest",
        "noxfile",
        "toxfile",
        "tasks",
        "fabfile",
        "dodo",
        "pavement",
        "ez_setup",
        "distribute_setup",
        "versioneer",
        "bootstrap",
        "build",
        "test",
        "tests",
        "example",
        "examples",
        "benchmark",
        "benchmarks",
        "runtests",
    ];
    stem.starts_with('_') || stem.starts_with("test_") || SCRIPTS.contains(&stem)
}
