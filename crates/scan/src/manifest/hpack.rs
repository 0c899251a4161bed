//! `package.yaml`: Haskell packages by way of hpack.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, yaml};

pub(super) const FORMAT: Format = Format {
    manifest_type: "hackage",
    files: &[Files::Named("package.yaml")],
    parse,
};

/// Keys of which an hpack file has at least one; the file name alone says little.
const KEYS: &[&str] = &[
    "library",
    "internal-libraries",
    "executable",
    "executables",
    "tests",
    "benchmarks",
    "ghc-options",
    "default-extensions",
    "source-dirs",
    "extra-source-files",
    "spec-version",
];

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let package = yaml::read(source)?;
    if !KEYS.iter().any(|key| package.has(key)) {
        return Err(ManifestError::NotAManifest("no key of hpack"));
    }
    let mut manifest = source.named(package.text("name"));
    manifest.version = package.text("version");
    manifest.repository = package.text("git").or_else(|| {
        let path = package.text("github")?;
        let repository: Vec<&str> = path.splitn(3, '/').take(2).collect();
        Some(format!("https://github.com/{}", repository.join("/")))
    });
    if manifest.name.is_none() {
        manifest.doubt("named after its directory");
    } else if manifest.version.is_none() {
        manifest.doubt("no version");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}
