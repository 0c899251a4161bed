//! `*.podspec` and `*.podspec.json`: `CocoaPods`.

use serde_json::Value;

use super::ruby_spec::{self, RubySpec};
use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "cocoapods",
    files: &[Files::Ending(".podspec"), Files::Ending(".podspec.json")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let mut manifest = if source.extension() == "json" {
        parse_json(source)?
    } else {
        parse_ruby(source)?
    };
    if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no static name");
    }
    Ok(manifest)
}

fn parse_ruby(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = ruby_spec::tree(source)?;
    let Some(spec) = RubySpec::find(&tree, "Pod", &["Spec", "Specification"]) else {
        return Err(ManifestError::NotAManifest("no Pod::Spec"));
    };
    let mut manifest = source.named(spec.name());
    manifest.version = spec.text("version");
    manifest.repository = spec.member("source", "git");
    Ok(manifest)
}

fn parse_json(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let spec = data::json(source)?;
    let mut manifest = source.named(data::text(&spec, "name"));
    manifest.version = data::text(&spec, "version");
    manifest.repository = spec
        .get("source")
        .and_then(Value::as_object)
        .and_then(|source| data::text(source, "git"));
    Ok(manifest)
}
