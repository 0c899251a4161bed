//! `package.json`: npm.

use serde_json::{Map, Value};

use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "npm",
    files: &[Files::Named("package.json")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let value: Value =
        serde_json::from_str(&source.text).map_err(|e| ManifestError::Malformed {
            format: "JSON",
            detail: e.to_string(),
        })?;
    let Value::Object(package) = value else {
        return Err(ManifestError::NotAManifest("the document is not an object"));
    };
    let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);

    let mut manifest = source.named(text("name"));
    manifest.version = text("version");
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
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match package.get("repository") {
        Some(Value::String(link)) => (Some(link.clone()), None),
        Some(Value::Object(fields)) => (
            fields.get("url").and_then(text),
            fields.get("directory").and_then(text),
        ),
        _ => (None, None),
    }
}
