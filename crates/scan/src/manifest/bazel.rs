//! `MODULE.bazel`: Bazel modules.

use super::syntax::{Constants, Dialect, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "bazel",
    files: &[Files::Named("MODULE.bazel")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Python)?;
    let mut calls = tree
        .all()
        .filter(|at| tree.is_word(*at, "module") && tree.begins(*at) && tree.is_open(at + 1, "("));
    let call = calls.next().filter(|_| calls.next().is_none());
    let mut manifest = source.empty();
    if let Some(call) = call {
        let constants = Constants::collect(&tree);
        let text = |key: &str| {
            tree.keyed(tree.inside(call + 1), key)
                .and_then(|value| constants.text(value))
        };
        manifest.name = text("name");
        manifest.version = text("version");
    }
    if manifest.name.is_none() {
        manifest.deny("no module name");
    } else if manifest.version.is_none() {
        manifest.doubt("no version");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}
