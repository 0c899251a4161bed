//! `action.yml`: GitHub Actions. Workflows refer to one by its repository; the name is for people.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, yaml};

pub(super) const FORMAT: Format = Format {
    manifest_type: "actions",
    files: &[Files::Named("action.yml"), Files::Named("action.yaml")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let action = yaml::read(source)?;
    if !action.has("runs") {
        return Err(ManifestError::NotAManifest("no key runs"));
    }
    let mut manifest = source.named(action.text("name"));
    if source.path.split('/').any(|part| part == ".github") {
        manifest.deny("an action for this repository only");
    } else if manifest.name.is_none() {
        manifest.deny("no name");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}
