//! `deno.json`: Deno's configuration, which may also describe a package.

use serde_json::Value;

use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "deno",
    files: &[Files::Named("deno.json"), Files::Named("deno.jsonc")],
    parse,
};

pub(super) fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let package = data::json_with_comments(source)?;
    let mut manifest = source.named(data::text(&package, "name"));
    manifest.version = data::text(&package, "version");
    if package.get("publish") == Some(&Value::Bool(false)) {
        manifest.deny("publish: false");
    } else if manifest.name.is_none() {
        manifest.deny("no name");
    } else if manifest.version.is_none() {
        manifest.deny("no version");
    } else if !package.contains_key("exports") {
        manifest.deny("no exports");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}
