//! Which of a source tree's files will be importable once it is installed.
//!
//! A build could do anything; these are the layouts people use. What a project
//! declares goes first (`top_level.txt`, the build tool's own settings), then a
//! `src` directory, then packages beside `setup.py`, then modules beside it. A
//! tree that fits none of them gives its topmost packages, wherever they are.

use std::collections::BTreeSet;

use super::modules::{Module, ModuleKind, is_identifier};
use super::source_tree::SourceTree;

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
    let tree = SourceTree::new(files);
    let found = match (layout.native, layout.declared) {
        (Some(native), []) => around(&tree, native, layout),
        (_, []) => guessed(&tree, layout),
        (_, declared) => {
            let mut found = named(&tree, declared, layout);
            found.extend(elsewhere(&tree, declared, &found));
            found
        }
    };
    merged(found)
}

/// The modules below the given top-level names.
fn named(tree: &SourceTree, names: &[String], layout: &Layout<'_>) -> Vec<Module> {
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    // A name below another one is part of it.
    let covered = |name: &str| {
        name.match_indices('.')
            .any(|(at, _)| names.contains(&name[..at]))
    };
    let tops = names.iter().filter(|name| !covered(name));
    let modules = |name: &&str| Some(tree.modules_of(root_of(tree, name, layout)?, name));
    tops.filter_map(modules).flatten().collect()
}

/// Declared names that are not where names usually are: in a directory of their
/// own choice, spread over the project's top or `src` itself, or yet to be built.
fn elsewhere(tree: &SourceTree, declared: &[String], found: &[Module]) -> Vec<Module> {
    let known: BTreeSet<&str> = found.iter().map(|module| module.name.as_str()).collect();
    let missing = |name: &&String| {
        !known.contains(name.as_str()) && *name != "__init__" && name.split('.').all(is_identifier)
    };
    let missing: Vec<&String> = declared.iter().filter(missing).take(MAX_MISSING).collect();
    let mut modules = Vec::new();
    for name in &missing {
        if let Some(root) = tree.parent_of_package(name) {
            modules.extend(tree.modules_of(root, name));
        } else if let ([_], Some(root)) = (
            declared,
            ["src", ""].iter().find(|root| tree.has_init(root)),
        ) {
            modules.extend(grafted(tree, root, name));
        } else if tree.has_native_source() && !tree.has_directory(name) {
            modules.push(Module {
                name: (*name).clone(),
                kind: ModuleKind::Extension,
            });
        }
    }
    modules
}

/// Each one is a walk through all files.
const MAX_MISSING: usize = 32;

/// The modules of a directory that is installed under another name.
fn grafted(tree: &SourceTree, root: &str, name: &str) -> Vec<Module> {
    let installed = |module: &Module| {
        let top = module.name.split('.').next().unwrap_or_default();
        !root.is_empty() || !(is_aside(top) || is_script(top))
    };
    let below = tree.modules_in(root).into_iter().filter(installed);
    let below = below.map(|module| Module {
        name: format!("{name}.{}", module.name),
        kind: module.kind,
    });
    let package = Module {
        name: name.to_owned(),
        kind: ModuleKind::Package,
    };
    std::iter::once(package).chain(below).collect()
}

/// A native module and the Python package it is part of, if there is one.
fn around(tree: &SourceTree, native: &str, layout: &Layout<'_>) -> Vec<Module> {
    let top = native.split('.').next().unwrap_or(native).to_owned();
    let mut names = layout.packages.to_vec();
    names.push(top.clone());
    let mut found = named(tree, &names, layout);
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

fn guessed(tree: &SourceTree, layout: &Layout<'_>) -> Vec<Module> {
    let own = layout.project.replace('-', "_");
    let mut names = layout.packages.to_vec();
    if names.is_empty() && layout.roots.is_empty() && layout.own_name_only {
        names.push(own.clone());
    }
    let found = named(tree, &names, layout);
    if !found.is_empty() {
        return found;
    }
    for root in layout.roots.iter().map(String::as_str).chain(["src"]) {
        // `src/__init__.py` makes `src` itself a package.
        if tree.has_init(root) {
            continue;
        }
        let found = tree.modules_in(root);
        if !found.is_empty() {
            return found;
        }
    }
    let found = flat(tree, &own);
    if found.is_empty() {
        topmost(tree)
    } else {
        found
    }
}

/// Packages, else modules, beside `setup.py`.
fn flat(tree: &SourceTree, own: &str) -> Vec<Module> {
    let tops: BTreeSet<&str> = tree
        .code()
        .filter_map(|path| path.split_once('/'))
        .map(|(top, _)| top)
        .collect();
    let package = |top: &&str| {
        let wanted = *top == own || !is_aside(top);
        wanted && !tree.starting(&format!("{top}/__init__.")).is_empty()
    };
    let mut names: Vec<&str> = tops.into_iter().filter(package).collect();
    let stems = tree
        .code()
        .filter(|path| !path.contains('/'))
        .filter_map(|path| path.split_once('.'));
    let beside: BTreeSet<&str> = stems
        .map(|(stem, _)| stem)
        .filter(|stem| *stem == own || !is_script(stem))
        .collect();
    if names.is_empty() {
        names.extend(beside);
    } else if beside.contains(own) && !names.contains(&own) {
        names.push(own);
    }
    names
        .iter()
        .flat_map(|name| tree.modules_of("", name))
        .collect()
}

/// The topmost directories with Python files, each as a package.
fn topmost(tree: &SourceTree) -> Vec<Module> {
    let directories: BTreeSet<&str> = tree
        .code()
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
        found.extend(tree.modules_of(root, name));
    }
    found
}

/// The directory that holds a top-level name: one with a proper module of that
/// name, else one with anything of that name.
fn root_of<'l>(tree: &SourceTree, name: &str, layout: &Layout<'l>) -> Option<&'l str> {
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
        ends.iter()
            .any(|end| tree.has_file(&format!("{start}{end}")))
    };
    let vague = |root: &&str| {
        let start = start(root);
        ["/", "."]
            .iter()
            .any(|next| !tree.starting(&format!("{start}{next}")).is_empty())
    };
    roots().find(proper).or_else(|| roots().find(vague))
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
