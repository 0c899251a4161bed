//! `Cargo.toml`: Cargo.

use toml::{Table, Value};

use super::resolve::CargoWorkspace;
use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "cargo",
    files: &[Files::Named("Cargo.toml")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let document = data::toml(source)?;
    let mut manifest = source.empty();
    let workspace = document.get("workspace").and_then(Value::as_table);
    if let Some(workspace) = workspace {
        manifest.hints.cargo_workspace = Some(workspace_defaults(workspace));
    }
    // `[project]` is the name of the table before 1.0; Cargo still reads it.
    let package = document.get("package").or_else(|| document.get("project"));
    let Some(package) = package.and_then(Value::as_table) else {
        if workspace.is_none() {
            return Err(ManifestError::NotAManifest(
                "neither [package] nor [workspace]",
            ));
        }
        manifest.deny("virtual workspace");
        return Ok(manifest);
    };

    manifest.name = text(package.get("name"));
    manifest.version = text(package.get("version"));
    manifest.repository = text(package.get("repository"));
    manifest.hints.inherits_version = inherits(package.get("version"));
    manifest.hints.inherits_repository = inherits(package.get("repository"));
    manifest.hints.inherits_publish = inherits(package.get("publish"));
    if manifest.name.is_none() {
        manifest.deny("no name");
    } else if let Some(reason) = package.get("publish").and_then(refusal) {
        manifest.deny(reason);
    } else if !package.contains_key("version") {
        // Cargo reads a missing version as `publish = false`.
        manifest.deny("no version");
    } else if manifest.hints.inherits_publish {
        manifest.doubt("publish.workspace = true");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn inherits(value: Option<&Value>) -> bool {
    value
        .and_then(|value| value.get("workspace"))
        .and_then(Value::as_bool)
        == Some(true)
}

/// Why `publish` forbids the public registry, if it does.
fn refusal(publish: &Value) -> Option<&'static str> {
    match publish {
        Value::Boolean(false) => Some("publish = false"),
        Value::Array(registries) if registries.is_empty() => Some("publish = []"),
        Value::Array(registries)
            if !registries
                .iter()
                .any(|name| name.as_str() == Some("crates-io")) =>
        {
            Some("publish names other registries")
        }
        _ => None,
    }
}

/// `[workspace.package]`: what members may inherit.
fn workspace_defaults(workspace: &Table) -> CargoWorkspace {
    let package = workspace.get("package").and_then(Value::as_table);
    let field = |key: &str| package.and_then(|package| package.get(key));
    CargoWorkspace {
        version: text(field("version")),
        repository: text(field("repository")),
        refusal: field("publish").and_then(refusal),
    }
}
