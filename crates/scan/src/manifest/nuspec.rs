//! `*.nuspec`: .NET packages described by hand.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, xml};

pub(super) const FORMAT: Format = Format {
    manifest_type: "nuget",
    files: &[Files::Ending(".nuspec")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let package = xml::read(source)?;
    let Some(metadata) = package
        .child("metadata")
        .filter(|_| package.name == "package")
    else {
        return Err(ManifestError::NotAManifest("no <package> with <metadata>"));
    };
    // `$id$` is replaced when packing.
    let constant = |name: &str| metadata.text_of(name).filter(|text| !text.contains('$'));
    let mut manifest = source.named(constant("id"));
    manifest.version = constant("version");
    manifest.repository = metadata
        .child("repository")
        .and_then(|repository| repository.attribute("url"))
        .map(str::to_owned);
    if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no static id");
    }
    Ok(manifest)
}
