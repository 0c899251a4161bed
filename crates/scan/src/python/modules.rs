//! From file names to what can be imported.
//!
//! The listing is judged the way Python's import system would judge it after
//! installation: by suffix and by place, without looking into any file.

use std::collections::{BTreeMap, BTreeSet};

/// A dotted name and what stands behind it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Module {
    pub name: String,
    pub kind: ModuleKind,
}

/// What stands behind a module's name. When several files give one name, the
/// later kind of this list wins, as it does in Python; stubs give way to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModuleKind {
    /// Type information only: nothing to import.
    Stub,
    /// A directory of modules without `__init__`, which other distributions may
    /// share.
    Namespace,
    /// A Python file.
    Source,
    /// A shared library Python can load.
    Extension,
    /// A directory with `__init__`.
    Package,
}

/// The modules of a wheel, from the names of its members.
pub fn wheel_modules<'a>(members: impl IntoIterator<Item = &'a str>) -> Vec<Module> {
    importable(members.into_iter().filter_map(in_wheel))
}

/// The modules of an egg, from the names of its members.
pub fn egg_modules<'a>(members: impl IntoIterator<Item = &'a str>) -> Vec<Module> {
    importable(
        members
            .into_iter()
            .filter(|path| !path.starts_with("EGG-INFO/")),
    )
}

/// Each file may name as many directories as its path is deep; no honest
/// listing comes near this.
const MAX_NAMESPACES: usize = 50_000;

/// Nobody types a longer name; hostile archives have longer paths.
const MAX_MODULE_NAME: usize = 512;

/// The modules of files as they lie below a directory of the import path.
pub(super) fn importable<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<Module> {
    let mut found: BTreeMap<String, ModuleKind> = BTreeMap::new();
    for (name, kind) in paths.into_iter().filter_map(module_of) {
        let known = found.entry(name).or_insert(kind);
        *known = kind.max(*known);
    }
    let mut namespaces: BTreeSet<String> = BTreeSet::new();
    for (name, _) in found.iter().filter(|(_, kind)| **kind != ModuleKind::Stub) {
        // From below: a parent that is known has named the ones above it.
        for (at, _) in name.rmatch_indices('.') {
            let parent = &name[..at];
            if found.get(parent) == Some(&ModuleKind::Package)
                || namespaces.contains(parent)
                || namespaces.len() >= MAX_NAMESPACES
            {
                break;
            }
            namespaces.insert(parent.to_owned());
        }
    }
    for name in namespaces {
        let known = found.entry(name).or_insert(ModuleKind::Namespace);
        *known = ModuleKind::Namespace.max(*known);
    }
    found
        .into_iter()
        .map(|(name, kind)| Module { name, kind })
        .collect()
}

/// The names a user would import: the topmost modules that are not namespaces.
pub fn top_imports(modules: &[Module]) -> Vec<String> {
    let real = |module: &&Module| !matches!(module.kind, ModuleKind::Stub | ModuleKind::Namespace);
    let kinds: BTreeMap<&str, ModuleKind> = modules
        .iter()
        .map(|module| (module.name.as_str(), module.kind))
        .collect();
    let below_a_module = |name: &str| {
        name.match_indices('.')
            .any(|(at, _)| kinds.get(&name[..at]) != Some(&ModuleKind::Namespace))
    };
    let names = modules
        .iter()
        .filter(real)
        .map(|module| module.name.as_str());
    names
        .filter(|name| !below_a_module(name))
        .map(str::to_owned)
        .collect()
}

/// The path a member of a wheel is installed to, if that is on the import path.
fn in_wheel(path: &str) -> Option<&str> {
    let (top, rest) = path.split_once('/').unwrap_or(("", path));
    let kind = top.rsplit_once('.').map_or("", |(_, kind)| kind);
    if kind == "dist-info" {
        return None;
    }
    if kind == "data" {
        return rest
            .strip_prefix("purelib/")
            .or_else(|| rest.strip_prefix("platlib/"));
    }
    Some(path)
}

/// The module one file makes, if it makes one.
fn module_of(path: &str) -> Option<(String, ModuleKind)> {
    if path.len() > MAX_MODULE_NAME {
        return None;
    }
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, kind) = stem_and_kind(file)?;
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let stubs = parts.first().and_then(|first| first.strip_suffix("-stubs"));
    let kind = match stubs {
        Some(package) => {
            parts[0] = package;
            ModuleKind::Stub
        }
        None => kind,
    };
    let package = stem == "__init__";
    if !package {
        parts.push(stem);
    }
    if parts.is_empty()
        || !parts.iter().all(|part| is_identifier(part))
        || parts.contains(&"__pycache__")
    {
        return None;
    }
    let kind = if package && kind != ModuleKind::Stub {
        ModuleKind::Package
    } else {
        kind
    };
    Some((parts.join("."), kind))
}

fn stem_and_kind(file: &str) -> Option<(&str, ModuleKind)> {
    let (stem, suffix) = file.split_once('.')?;
    let kind = match suffix {
        "py" | "pyc" => ModuleKind::Source,
        "pyi" => ModuleKind::Stub,
        "so" | "pyd" => ModuleKind::Extension,
        tagged => {
            let tag = tagged
                .strip_suffix(".so")
                .or_else(|| tagged.strip_suffix(".pyd"))?;
            is_abi_tag(tag).then_some(ModuleKind::Extension)?
        }
    };
    Some((stem, kind))
}

/// `cpython-311-x86_64-linux-gnu`, `abi3`, `cp311-win_amd64`, `pypy39-pp73-…`
fn is_abi_tag(tag: &str) -> bool {
    let known = [
        "cpython-", "abi3", "pypy", "cp3", "cp2", "graalpy", "cpython",
    ];
    known.iter().any(|prefix| tag.starts_with(prefix)) && !tag.contains('.')
}

pub(super) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|first| first == '_' || first.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}
