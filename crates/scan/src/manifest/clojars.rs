//! `project.clj`: Clojure projects of Leiningen.

use super::syntax::{Dialect, Kind, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "clojars",
    files: &[Files::Named("project.clj")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Clojure)?;
    let mut projects = tree
        .all()
        .filter(|at| tree.is_word(*at, "defproject") && *at > 0 && tree.is_open(at - 1, "("));
    let Some(project) = projects.next().filter(|_| projects.next().is_none()) else {
        return Err(ManifestError::NotAManifest("not one defproject"));
    };
    let mut manifest = source.named(tree.word(project + 1).map(str::to_owned));
    if tree.kind(project + 2) == Some(Kind::Text) {
        manifest.version = tree.literal(project + 2).map(str::to_owned);
    }
    if manifest.name.is_none() {
        manifest.doubt("no static name");
    } else if manifest.version.is_none() {
        manifest.doubt("no static version");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}
