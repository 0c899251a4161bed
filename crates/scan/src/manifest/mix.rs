//! `mix.exs`: Elixir.

use std::ops::Range;

use super::syntax::{Constants, Dialect, Kind, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "hex",
    files: &[Files::Named("mix.exs")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Elixir)?;
    let constants = Constants::collect(&tree);
    let Some(project) = function_list(&tree, "project", &["app", "apps_path"]) else {
        return Err(ManifestError::NotAManifest("no keyword list in project/0"));
    };
    let field = |key: &str| tree.keyed(project.clone(), key);
    let text = |key: &str| field(key).and_then(|value| constants.text(value));
    let package = field("package").and_then(|value| package_list(&tree, value));

    let mut manifest = source.named(text("app"));
    if let Some(name) = package.clone().and_then(|list| tree.keyed(list, "name")) {
        // The package's own name goes before that of the application.
        manifest.name = constants.text(name);
    }
    manifest.version = text("version");
    manifest.repository = text("source_url");
    if field("apps_path").is_some() {
        manifest.deny("umbrella");
    } else if manifest.name.is_none() {
        manifest.doubt("no static app");
    } else if field("package").is_none() {
        manifest.deny("no package");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}

/// The list that a `package:` entry holds, or that the function it calls gives back.
fn package_list(tree: &Tree<'_>, value: Range<usize>) -> Option<Range<usize>> {
    if tree.is_open(value.start, "[") {
        return Some(tree.inside(value.start));
    }
    function_list(tree, tree.word(value.start)?, &[])
}

/// The first list in a function without arguments; one that has any of the given keys, if there
/// are some.
fn function_list(tree: &Tree<'_>, name: &str, keys: &[&str]) -> Option<Range<usize>> {
    let is_def = |at: usize| tree.is_word(at, "def") || tree.is_word(at, "defp");
    let start = tree
        .all()
        .find(|at| is_def(*at) && tree.is_word(at + 1, name))?;
    let mut at = start + 2;
    while at < tree.len() && !(is_def(at) && tree.begins(at)) {
        if tree.kind(at) == Some(Kind::Open) && tree.is_open(at, "[") {
            let list = tree.inside(at);
            if keys.is_empty() || keys.iter().any(|key| has_key(tree, list.clone(), key)) {
                return Some(list);
            }
        }
        at = tree.after(at);
    }
    None
}

fn has_key(tree: &Tree<'_>, list: Range<usize>, key: &str) -> bool {
    tree.items(list)
        .any(|item| tree.is_word(item.start, key) && tree.is_sign(item.start + 1, ":"))
}
