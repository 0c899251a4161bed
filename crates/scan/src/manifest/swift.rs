//! `Package.swift`: Swift packages. Other packages refer to one by its repository; the name is for
//! people.

use super::syntax::{Constants, Dialect, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "swiftpm",
    files: &[Files::Named("Package.swift")],
    parse,
};

const MAX_CALLS: usize = 8;

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Swift)?;
    let calls: Vec<usize> = tree
        .all()
        .filter(|at| {
            tree.is_word(*at, "Package")
                && tree.is_open(at + 1, "(")
                && !at
                    .checked_sub(1)
                    .is_some_and(|before| tree.is_sign(before, "."))
        })
        .take(MAX_CALLS + 1)
        .collect();
    if calls.is_empty() {
        return Err(ManifestError::NotAManifest("no Package(…)"));
    }
    let constants = Constants::collect(&tree);
    let mut names = calls.iter().map(|call| {
        tree.keyed(tree.inside(call + 1), "name")
            .and_then(|value| constants.text(value))
    });
    let first = names.next().flatten();
    let agreed = calls.len() <= MAX_CALLS && names.all(|name| name == first);
    let mut manifest = source.named(first.filter(|_| agreed));
    if manifest.name.is_none() {
        manifest.doubt("no static name");
    } else if calls
        .iter()
        .any(|call| tree.keyed(tree.inside(call + 1), "products").is_some())
    {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no products");
    }
    Ok(manifest)
}
