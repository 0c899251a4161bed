//! `elm.json`: Elm packages and applications.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "elm",
    files: &[Files::Named("elm.json")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let package = data::json(source)?;
    let mut manifest = source.named(data::text(&package, "name"));
    manifest.version = data::text(&package, "version");
    match data::text(&package, "type").as_deref() {
        Some("application") => manifest.deny("type: application"),
        _ if manifest.name.is_none() => manifest.deny("no name"),
        Some("package") => manifest.intent = Intent::Yes,
        _ => manifest.doubt("no type"),
    }
    Ok(manifest)
}
