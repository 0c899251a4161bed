//! `pubspec.yaml`: Dart and Flutter.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, yaml};

pub(super) const FORMAT: Format = Format {
    manifest_type: "pub",
    files: &[Files::Named("pubspec.yaml")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let pubspec = yaml::read(source)?;
    let mut manifest = source.named(pubspec.text("name"));
    manifest.version = pubspec.text("version");
    manifest.repository = pubspec.text("repository");
    if pubspec.text("publish_to").as_deref() == Some("none") {
        manifest.deny("publish_to: none");
    } else if manifest.name.is_none() {
        manifest.deny("no name");
    } else if manifest.version.is_none() {
        manifest.deny("no version");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}
