//! `vcpkg.json`: C and C++ ports, and projects that only use some.

use super::{Files, Format, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "vcpkg",
    files: &[Files::Named("vcpkg.json")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let port = data::json(source)?;
    let mut manifest = source.named(data::text(&port, "name"));
    manifest.version = [
        "version",
        "version-semver",
        "version-date",
        "version-string",
    ]
    .iter()
    .find_map(|key| data::text(&port, key));
    if manifest.name.is_none() {
        manifest.deny("no name");
    } else {
        manifest.doubt("may only list what it uses");
    }
    Ok(manifest)
}
