//! `*.gemspec`: Ruby gems.

use super::ruby_spec::{self, RubySpec};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "rubygems",
    files: &[Files::Ending(".gemspec")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = ruby_spec::tree(source)?;
    let Some(spec) = RubySpec::find(&tree, "Gem", &["Specification"]) else {
        return Err(ManifestError::NotAManifest("no Gem::Specification"));
    };
    let mut manifest = source.named(spec.name());
    if spec.is_named_by_file() {
        manifest.effective_name = source
            .file_name()
            .strip_suffix(".gemspec")
            .map(str::to_owned);
    }
    manifest.version = spec.text("version");
    manifest.repository = spec.member("metadata", "source_code_uri");
    match spec.member("metadata", "allowed_push_host") {
        Some(host) if !host.contains("rubygems") => manifest.deny("allowed_push_host"),
        _ if manifest.name.is_none() => manifest.doubt("no static name"),
        _ => manifest.intent = Intent::Yes,
    }
    Ok(manifest)
}
