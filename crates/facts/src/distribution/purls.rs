//! The package URL of a published or declared package.

use packageurl::PackageUrl;

use super::family;
use crate::purl::{purl, purl_type};

/// The package URL, also where the name alone does not make one: a Swift package is named by its
/// repository, a Julia package needs its uuid.
pub fn package_url(ecosystem: &str, name: &str, uuid: Option<&str>) -> Option<String> {
    let word = match ecosystem {
        known if purl_type(known).is_some() => known,
        other => family(other),
    };
    match word {
        "swiftpm" => {
            let (namespace, name) = name.rsplit_once('/')?;
            let namespace = namespace
                .split_once("://")
                .map_or(namespace, |(_, rest)| rest);
            plain("swift", Some(namespace), name.trim_end_matches(".git"))
        }
        "julia" => {
            let mut url = PackageUrl::new("julia", name).ok()?;
            url.add_qualifier("uuid", uuid?).ok()?;
            Some(url.to_string())
        }
        _ if ecosystem == "bioconductor" => plain("bioconductor", None, name),
        "container" => plain(
            "docker",
            name.rsplit_once('/').map(|(namespace, _)| namespace),
            name.rsplit('/').next().unwrap_or(name),
        ),
        word => purl(word, name, None),
    }
}

fn plain(kind: &str, namespace: Option<&str>, name: &str) -> Option<String> {
    let mut url = PackageUrl::new(kind, name).ok()?;
    if let Some(namespace) = namespace {
        url.with_namespace(namespace).ok()?;
    }
    Some(url.to_string())
}
