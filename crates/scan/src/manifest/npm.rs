//! `package.json`: npm.

use serde_json::{Map, Value};

use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "npm",
    files: &[Files::Named("package.json")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let package = data::json(source)?;
    let mut manifest = source.named(data::text(&package, "name"));
    manifest.version = data::text(&package, "version");
    (manifest.repository, manifest.directory) = repository(&package);
    if is_true(package.get("private")) {
        manifest.deny("private");
    } else if manifest.name.is_none() {
        manifest.deny("no name");
    } else if manifest.version.is_none() {
        manifest.deny("no version");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}

/// The tool only asks for truth, and `"private": "true"` is found in the wild.
fn is_true(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(text)) => text == "true",
        _ => false,
    }
}

/// `repository` is a link, or an object with `url` and the package's `directory`.
fn repository(package: &Map<String, Value>) -> (Option<String>, Option<String>) {
    match package.get("repository") {
        Some(Value::String(link)) => (Some(link.clone()), None),
        Some(Value::Object(fields)) => (data::text(fields, "url"), data::text(fields, "directory")),
        _ => (None, None),
    }
}
