//! `galaxy.yml`: Ansible collections.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, yaml};

pub(super) const FORMAT: Format = Format {
    manifest_type: "ansible",
    files: &[Files::Named("galaxy.yml")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let collection = yaml::read(source)?;
    let text = |key: &str| collection.text(key);
    if !collection.has("namespace") {
        return Err(ManifestError::NotAManifest("no key namespace"));
    }
    let full = text("namespace").zip(text("name"));
    let mut manifest = source.named(full.map(|(namespace, name)| format!("{namespace}.{name}")));
    manifest.version = text("version");
    manifest.repository = text("repository");
    if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.deny("no name");
    }
    Ok(manifest)
}
