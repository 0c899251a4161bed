//! `build.sbt`: Scala builds, published for Maven.
//!
//! A published artifact also carries the Scala version in its name, which the build file rarely
//! fixes; the declared name is what stands in the file.

use super::syntax::{Constants, Dialect, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "maven",
    files: &[Files::Named("build.sbt")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Scala)?;
    let constants = Constants::collect(&tree);
    let text = |key: &str| setting(&tree, &constants, key);
    let mut manifest = source.empty();
    manifest.name = match (text("organization"), text("name")) {
        (Some(organization), Some(name)) => Some(format!("{organization}:{name}")),
        (None, name) => name,
        _ => None,
    };
    manifest.version = text("version");
    if manifest.name.is_none() {
        manifest.doubt("no static name");
    } else if skips(&tree) {
        manifest.deny("publish / skip");
    } else if text("organization").is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no organization");
    }
    Ok(manifest)
}

/// The value of `key := value`: the one outside of any project, else the only one there is.
fn setting(tree: &Tree<'_>, constants: &Constants<'_, '_>, key: &str) -> Option<String> {
    let mut outside = Vec::new();
    let mut inside = Vec::new();
    for at in tree.all() {
        if !tree.is_word(at, key) || !is_for_the_build(tree, at) {
            continue;
        }
        // `key in ThisBuild := value` is the older form.
        let assign = if tree.is_word(at + 1, "in") {
            at + 3
        } else {
            at + 1
        };
        if !tree.is_sign(assign, ":=") {
            continue;
        }
        let list = if tree.within(at).is_none() {
            &mut outside
        } else {
            &mut inside
        };
        let mut value = tree.statement(assign + 1, &tree.all());
        // Inside `settings(…)` a comma ends the value.
        if let Some(first) = tree.items(value.clone()).next() {
            value = first;
        }
        list.push(value);
        if list.len() > 1 {
            break;
        }
    }
    let only = match (outside.as_slice(), inside.as_slice()) {
        ([value], _) | ([], [value]) => value.clone(),
        _ => return None,
    };
    constants.text(only)
}

/// Not scoped to a task or configuration: nothing before it but `ThisBuild /`.
fn is_for_the_build(tree: &Tree<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    tree.begins(at)
        || tree.is_sign(before, ",")
        || (tree.is_sign(before, "/") && before > 0 && tree.is_word(before - 1, "ThisBuild"))
}

/// `publish / skip := true` outside of any project.
fn skips(tree: &Tree<'_>) -> bool {
    tree.all().any(|at| {
        tree.is_word(at, "publish")
            && tree.is_sign(at + 1, "/")
            && tree.is_word(at + 2, "skip")
            && tree.is_sign(at + 3, ":=")
            && tree.is_word(at + 4, "true")
            && tree.within(at).is_none()
    })
}
