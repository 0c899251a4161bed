//! `settings.gradle` and `settings.gradle.kts`: they name a build, after which its root artifact is
//! called unless the build file says otherwise.

use super::gradle;
use super::resolve::Gradle;
use super::syntax::{Constants, Tree};
use super::{Files, Format, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "maven",
    files: &[
        Files::Named("settings.gradle"),
        Files::Named("settings.gradle.kts"),
    ],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, gradle::dialect(source))?;
    let constants = Constants::collect(&tree);
    let mut names = tree.all().filter(|at| {
        tree.is_word(*at, "rootProject")
            && tree.begins(*at)
            && tree.is_sign(at + 1, ".")
            && tree.is_word(at + 2, "name")
            && tree.is_sign(at + 3, "=")
    });
    let first = names.next().filter(|_| names.next().is_none());
    let name = first.and_then(|at| constants.text(tree.statement(at + 4, &tree.all())));
    let mut manifest = source.named(name.clone());
    manifest.hints.gradle = Some(Gradle::Settings { root_name: name });
    manifest.deny("names a build, not a package");
    Ok(manifest)
}
