//! `Chart.yaml`: Helm charts.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, yaml};

pub(super) const FORMAT: Format = Format {
    manifest_type: "helm",
    files: &[Files::Named("Chart.yaml")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let chart = yaml::read(source)?;
    if !chart.has("apiVersion") && !chart.has("version") {
        return Err(ManifestError::NotAManifest(
            "neither apiVersion nor version",
        ));
    }
    let mut manifest = source.named(chart.text("name"));
    manifest.version = chart.text("version");
    manifest.repository = chart
        .get("sources")
        .and_then(|sources| sources.list().first())
        .and_then(|link| link.scalar())
        .map(str::to_owned);
    if manifest.name.is_none() {
        manifest.deny("no name");
    } else if manifest.version.is_none() {
        manifest.deny("no version");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}
