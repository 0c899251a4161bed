//! `setup.py`: the call of `setup()`, in Python of any age.

use std::ops::Range;

use super::resolve::Python;
use super::syntax::{Constants, Dialect, Kind, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source, pyproject};

pub(super) const FORMAT: Format = Format {
    manifest_type: "pypi",
    files: &[Files::Named("setup.py")],
    parse,
};

/// Modules whose `setup` it may be.
const MODULES: &[&str] = &[
    "setuptools",
    "distutils",
    "core",
    "skbuild",
    "sk_build",
    "st",
];
/// A file with more calls is not one package's.
const MAX_CALLS: usize = 8;

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Python)?;
    let calls: Vec<usize> = tree
        .all()
        .filter(|at| is_call(&tree, *at))
        .take(MAX_CALLS + 1)
        .collect();
    if calls.is_empty() {
        return Err(ManifestError::NotAManifest("no call of setup()"));
    }
    let constants = Constants::collect(&tree);
    let mut manifest = source.empty();
    manifest.hints.python = Some(Python::SetupPy);
    if calls.len() > MAX_CALLS {
        manifest.doubt("many calls of setup()");
        return Ok(manifest);
    }
    manifest.name = agreed(&tree, &constants, &calls, "name");
    manifest.version = agreed(&tree, &constants, &calls, "version");
    if is_private(&tree) {
        manifest.deny(pyproject::PRIVATE);
    } else if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no static name");
    }
    Ok(manifest)
}

/// `setup(` or `setuptools.setup(`, but not its definition and not some other object's method.
fn is_call(tree: &Tree<'_>, at: usize) -> bool {
    if !tree.is_word(at, "setup") || !tree.is_open(at + 1, "(") {
        return false;
    }
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    if tree.is_sign(before, ".") {
        return before
            .checked_sub(1)
            .and_then(|module| tree.word(module))
            .is_some_and(|module| MODULES.contains(&module));
    }
    !tree.is_word(before, "def") && !tree.is_word(before, "class")
}

/// What all calls say alike.
fn agreed(
    tree: &Tree<'_>,
    constants: &Constants<'_, '_>,
    calls: &[usize],
    key: &str,
) -> Option<String> {
    let mut found = None;
    for call in calls {
        let value = constants.text(argument(tree, constants, tree.inside(call + 1), key)?)?;
        if found.get_or_insert_with(|| value.clone()) != &value {
            return None;
        }
    }
    found
}

/// `key=…`, or the entry of a dictionary that is spread into the call.
fn argument(
    tree: &Tree<'_>,
    constants: &Constants<'_, '_>,
    arguments: Range<usize>,
    key: &str,
) -> Option<Range<usize>> {
    if let Some(value) = tree.keyed(arguments.clone(), key) {
        return Some(value);
    }
    let mut found = None;
    for item in tree.items(arguments) {
        if !tree.is_sign(item.start, "**") {
            continue;
        }
        if let Some(value) = constants.entry(item.start + 1..item.end, key) {
            if found.is_some() {
                return None;
            }
            found = Some(value);
        }
    }
    found
}

fn is_private(tree: &Tree<'_>) -> bool {
    tree.all()
        .any(|at| tree.kind(at) == Some(Kind::Text) && tree.literal(at) == Some(pyproject::PRIVATE))
}
