//! `name-1.2.3.tgz`: an npm package, a Helm chart, or something else.

use super::{
    ReleaseAsset,
    pieces::{is_platform, semver},
};

/// A tarball whose name has the form that both npm and Helm give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tarball {
    /// What stands before the version. A scope is run together with the name.
    pub name: String,
    /// The version.
    pub version: String,
}

/// What lies around a tarball and may tell what it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around<'a> {
    /// The tag of its release.
    pub tag: &'a str,
    /// The names of all files of its release.
    pub files: &'a [&'a str],
    /// The names that the repository declares for npm packages.
    pub npm: &'a [&'a str],
    /// The names that the repository declares for Helm charts.
    pub helm: &'a [&'a str],
}

/// Reads the name without its ending.
pub(super) fn read(stem: &str) -> Option<Tarball> {
    let (name, version) = semver(stem)?;
    let version = version?;
    let words = |text: &str| text.split(['-', '.', '_']).any(is_platform);
    // Binaries of a tool, packed for a machine.
    if words(name) || words(version) || name.contains("x86_64") {
        return None;
    }
    Some(Tarball {
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

impl Tarball {
    /// What it is, if anything around it tells.
    pub fn belongs_to(&self, around: &Around<'_>) -> Option<ReleaseAsset> {
        let Self { name, version } = self;
        let asset = |ecosystem, name: &str| {
            Some(ReleaseAsset {
                ecosystem,
                name: Some(name.to_owned()),
                version: Some(version.clone()),
            })
        };
        // Helm signs a chart beside it.
        let signature = format!("{name}-{version}.tgz.prov");
        if around.files.contains(&signature.as_str()) {
            return asset("helm", name);
        }
        let chart = around.helm.contains(&name.as_str());
        let package = around.npm.iter().find(|declared| packed(declared) == *name);
        let tag = around.tag;
        match (chart, package) {
            (true, None) => return asset("helm", name),
            (false, Some(declared)) => return asset("npm", declared),
            // Both are declared: only the tag can tell.
            (true, Some(declared)) if tag == format!("{declared}@{version}") => {
                return asset("npm", declared);
            }
            _ => {}
        }
        // How releases of single charts are tagged by Helm's own releaser.
        if tag == format!("{name}-{version}") || name.ends_with("-chart") {
            return asset("helm", name);
        }
        // How releases of single packages are tagged by npm's.
        let scoped = tag.strip_suffix(&format!("@{version}"));
        scoped
            .filter(|declared| packed(declared) == *name)
            .and_then(|declared| asset("npm", declared))
    }
}

/// The name that `npm pack` gives to the tarball of a package.
fn packed(package: &str) -> String {
    package.trim_start_matches('@').replace('/', "-")
}
