//! `Gemfile`: what a Ruby project uses. It never names a package; it is listed because its presence
//! says that the repository is Ruby.

use super::{Files, Format, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "rubygems",
    files: &[Files::Named("Gemfile")],
    parse,
};

#[expect(clippy::unnecessary_wraps, reason = "the signature of every format")]
fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let mut manifest = source.empty();
    manifest.deny("Gemfile names no package");
    Ok(manifest)
}
