//! `Project.toml` and `JuliaProject.toml`: Julia.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "julia",
    files: &[
        Files::Named("Project.toml"),
        Files::Named("JuliaProject.toml"),
    ],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let project = data::toml(source)?;
    let text = |key: &str| data::toml_text(&project, &[key]);
    let mut manifest = source.named(text("name"));
    manifest.uuid = text("uuid");
    manifest.version = text("version");
    if manifest.name.is_none() {
        manifest.deny("environment");
    } else if manifest.uuid.is_none() {
        manifest.deny("no uuid");
    } else if manifest.version.is_none() {
        manifest.deny("no version");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}
