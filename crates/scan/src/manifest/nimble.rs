//! `*.nimble`: Nim packages. The file's name is the package's, unless it says otherwise.

use super::syntax::{Constants, Dialect, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source, ini};

pub(super) const FORMAT: Format = Format {
    manifest_type: "nimble",
    files: &[Files::Ending(".nimble")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let mut manifest = source.empty();
    let unquoted = |value: String| value.trim_matches('"').to_owned();
    if let Some(version) = ini::value(&source.text, "Package", "version") {
        // The form of the first releases: sections of keys.
        manifest.version = Some(unquoted(version));
        manifest.name = ini::value(&source.text, "Package", "name").map(unquoted);
    } else {
        let tree = Tree::read(&source.text, Dialect::Nim)?;
        let constants = Constants::collect(&tree);
        let text = |name: &str| {
            tree.assignment(name)
                .and_then(|value| constants.text(value))
        };
        manifest.version = text("version");
        manifest.name = text("packageName");
    }
    manifest.effective_name = manifest.name.clone().or_else(|| {
        source
            .file_name()
            .strip_suffix(".nimble")
            .map(str::to_owned)
    });
    if manifest.version.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no static version");
    }
    Ok(manifest)
}
