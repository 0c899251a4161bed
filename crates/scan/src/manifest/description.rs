//! `DESCRIPTION`: R packages, for CRAN or Bioconductor.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, fields};

pub(super) const FORMAT: Format = Format {
    manifest_type: "cran",
    files: &[Files::Named("DESCRIPTION")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let paragraphs = fields::paragraphs(&source.text);
    let fields = paragraphs.first().map_or(&[][..], Vec::as_slice);
    let text = |name: &str| fields::value(fields, name).map(str::to_owned);
    let kind = text("Type");
    if text("Package").is_none() && kind.is_none() {
        return Err(ManifestError::NotAManifest("no field Package"));
    }
    let mut manifest = source.named(text("Package"));
    manifest.version = text("Version");
    manifest.repository =
        text("URL").and_then(|links| links.split([',', ' ', '\n']).next().map(str::to_owned));
    if text("biocViews").is_some() {
        manifest.registry = Some("bioconductor");
    }
    match kind.as_deref() {
        Some(kind) if !kind.eq_ignore_ascii_case("package") => {
            manifest.deny(format!(
                "Type: {}",
                kind.chars().take(40).collect::<String>()
            ));
        }
        _ if manifest.name.is_none() => manifest.deny("no Package"),
        _ if manifest.version.is_none() => manifest.deny("no Version"),
        _ => manifest.intent = Intent::Yes,
    }
    Ok(manifest)
}
