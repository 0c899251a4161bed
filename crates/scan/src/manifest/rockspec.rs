//! `*.rockspec`: Lua rocks.

use super::syntax::{Constants, Dialect, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "luarocks",
    files: &[Files::Ending(".rockspec")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Lua)?;
    let constants = Constants::collect(&tree);
    let text = |name: &str| {
        tree.assignment(name)
            .and_then(|value| constants.text(value))
    };
    let mut manifest = source.named(text("package"));
    manifest.version = text("version");
    manifest.repository = tree
        .assignment("source")
        .filter(|value| tree.is_open(value.start, "{"))
        .and_then(|value| tree.keyed(tree.inside(value.start), "url"))
        .and_then(|value| constants.text(value));
    if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no static package");
    }
    Ok(manifest)
}
