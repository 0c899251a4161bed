//! `composer.json`: PHP's Composer.

use serde_json::Value;

use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "composer",
    files: &[Files::Named("composer.json")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let package = data::json(source)?;
    let mut manifest = source.named(data::text(&package, "name"));
    manifest.version = data::text(&package, "version");
    manifest.repository = package
        .get("support")
        .and_then(Value::as_object)
        .and_then(|support| data::text(support, "source"));
    match manifest.name.as_deref() {
        None => manifest.deny("no name"),
        Some(name) if !name.contains('/') => manifest.deny("name without vendor"),
        Some(_) if data::text(&package, "type").as_deref() == Some("project") => {
            manifest.doubt("type: project");
        }
        Some(_) => manifest.intent = Intent::Yes,
    }
    Ok(manifest)
}
