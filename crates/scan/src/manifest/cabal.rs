//! `*.cabal`: Haskell packages.

use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "hackage",
    files: &[Files::Ending(".cabal")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let fields = Fields::read(&source.text);
    if fields.name.is_none() {
        return Err(ManifestError::NotAManifest("no field name"));
    }
    let mut manifest = source.named(fields.name);
    manifest.version = fields.version;
    manifest.repository = fields.location;
    if manifest.version.is_none() {
        manifest.deny("no version");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}

#[derive(Default)]
struct Fields {
    name: Option<String>,
    version: Option<String>,
    /// `location:` of the first `source-repository`.
    location: Option<String>,
}

impl Fields {
    /// Fields stand before the first section; a value may start on the next, indented line.
    fn read(text: &str) -> Self {
        let mut fields = Self::default();
        let mut in_section = false;
        let mut in_repository = false;
        let mut pending: Option<String> = None;
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with("--") {
                continue;
            }
            let indented = line.starts_with([' ', '\t']);
            if indented && let Some(field) = pending.take() {
                fields.set(&field, trimmed, in_section, in_repository);
                continue;
            }
            pending = None;
            match trimmed.split_once(':') {
                Some((name, value)) if is_field_name(name.trim_end()) => {
                    // Unindented fields after a section belong to the package again only in files
                    // that the tool refuses.
                    let name = name.trim_end().to_ascii_lowercase();
                    if value.trim().is_empty() {
                        pending = Some(name);
                    } else {
                        fields.set(&name, value.trim(), in_section, in_repository);
                    }
                }
                _ if !indented => {
                    in_section = true;
                    in_repository = trimmed
                        .to_ascii_lowercase()
                        .starts_with("source-repository");
                }
                _ => {}
            }
        }
        fields
    }

    fn set(&mut self, field: &str, value: &str, in_section: bool, in_repository: bool) {
        let slot = match field {
            "name" if !in_section => &mut self.name,
            "version" if !in_section => &mut self.version,
            "location" if in_repository => &mut self.location,
            _ => return,
        };
        slot.get_or_insert_with(|| value.to_owned());
    }
}

fn is_field_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
