//! `debian/control`: Debian source packages.

use super::{Files, Format, Manifest, ManifestError, Source, fields};

pub(super) const FORMAT: Format = Format {
    manifest_type: "debian",
    files: &[Files::In("debian", "control")],
    parse,
};

/// Binary packages that are kept of one source.
const MAX_OUTPUTS: usize = 256;

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let paragraphs = fields::paragraphs(&source.text);
    let Some((first, binaries)) = paragraphs.split_first() else {
        return Err(ManifestError::NotAManifest("no paragraph"));
    };
    let text = |name: &str| fields::value(first, name).map(str::to_owned);
    if text("Source").is_none() {
        return Err(ManifestError::NotAManifest("no field Source"));
    }
    let mut manifest = source.named(text("Source"));
    manifest.repository = text("Vcs-Browser")
        .or_else(|| text("Vcs-Git").and_then(|link| link.split(' ').next().map(str::to_owned)));
    manifest.outputs = binaries
        .iter()
        .filter_map(|fields| fields::value(fields, "Package"))
        .take(MAX_OUTPUTS)
        .map(str::to_owned)
        .collect();
    manifest.doubt("distributions choose what they carry");
    Ok(manifest)
}
