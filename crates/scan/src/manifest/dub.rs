//! `dub.json` and `dub.sdl`: D packages.

use super::syntax::{Dialect, Kind, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "dub",
    files: &[Files::Named("dub.json"), Files::Named("dub.sdl")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let (name, version) = if source.extension() == "json" {
        let package = data::json(source)?;
        (
            data::text(&package, "name"),
            data::text(&package, "version"),
        )
    } else {
        let tree = Tree::read(&source.text, Dialect::Sdl)?;
        (tag(&tree, "name"), tag(&tree, "version"))
    };
    let mut manifest = source.named(name);
    manifest.version = version;
    if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.deny("no name");
    }
    Ok(manifest)
}

/// `name "value"` outside of any block.
fn tag(tree: &Tree<'_>, name: &str) -> Option<String> {
    let mut found = tree.all().filter(|at| {
        tree.is_word(*at, name)
            && tree.begins(*at)
            && tree.within(*at).is_none()
            && tree.kind(at + 1) == Some(Kind::Text)
    });
    let at = found.next()?;
    tree.literal(at + 1)
        .filter(|_| found.next().is_none())
        .map(str::to_owned)
}
