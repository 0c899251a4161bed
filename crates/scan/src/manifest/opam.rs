//! `*.opam` and `opam`: OCaml packages. The file's name is the package's, unless a field says it.

use super::syntax::{Dialect, Kind, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "opam",
    files: &[Files::Ending(".opam"), Files::Named("opam")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Opam)?;
    let text = |field: &str| {
        let mut found = tree.all().filter(|at| {
            tree.is_word(*at, field)
                && tree.is_sign(at + 1, ":")
                && tree.within(*at).is_none()
                && tree.kind(at + 2) == Some(Kind::Text)
        });
        let at = found.next()?;
        tree.literal(at + 2)
            .filter(|_| found.next().is_none())
            .map(str::to_owned)
    };
    if text("opam-version").is_none() {
        return Err(ManifestError::NotAManifest("no opam-version"));
    }
    let mut manifest = source.named(text("name"));
    manifest.effective_name = manifest
        .name
        .clone()
        .or_else(|| source.file_name().strip_suffix(".opam").map(str::to_owned));
    manifest.version = text("version");
    manifest.repository = text("dev-repo");
    manifest.intent = Intent::Yes;
    Ok(manifest)
}
