//! `setup.cfg`: the static half of setuptools.

use super::resolve::Python;
use super::{Files, Format, Intent, Manifest, ManifestError, Source, ini, pyproject};

pub(super) const FORMAT: Format = Format {
    manifest_type: "pypi",
    files: &[Files::Named("setup.cfg")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    if !ini::has_section(&source.text, "metadata") {
        return Err(ManifestError::NotAManifest("no [metadata]"));
    }
    let metadata = |key: &str| ini::value(&source.text, "metadata", key).and_then(constant);
    let mut manifest = source.named(metadata("name"));
    manifest.hints.python = Some(Python::SetupCfg);
    manifest.version = metadata("version");
    let classifiers = metadata("classifiers").or_else(|| metadata("classifier"));
    if classifiers.is_some_and(|list| list.lines().any(|line| line == pyproject::PRIVATE)) {
        manifest.deny(pyproject::PRIVATE);
    } else if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no [metadata] name");
    }
    Ok(manifest)
}

/// `attr:` and `file:` are read at build time; `%(…)s` refers to other values.
fn constant(value: String) -> Option<String> {
    let computed = value.starts_with("attr:") || value.starts_with("file:") || value.contains("%(");
    (!computed).then_some(value)
}
