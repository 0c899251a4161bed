//! `conanfile.py` and `conanfile.txt`: Conan.

use super::syntax::{Constants, Dialect, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "conan",
    files: &[Files::Named("conanfile.py"), Files::Named("conanfile.txt")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let mut manifest = source.empty();
    if source.extension() == "txt" {
        manifest.deny("conanfile.txt names no package");
        return Ok(manifest);
    }
    let tree = Tree::read(&source.text, Dialect::Python)?;
    let constants = Constants::collect(&tree);
    let recipes: Vec<usize> = tree
        .all()
        .filter(|at| is_recipe(&tree, *at))
        .take(9)
        .collect();
    let attribute = |name: &str| match recipes.as_slice() {
        [recipe] => class_attribute(&tree, &constants, *recipe, name),
        _ => None,
    };
    manifest.name = attribute("name");
    manifest.version = attribute("version");
    manifest.repository = attribute("url");
    if recipes.is_empty() {
        return Err(ManifestError::NotAManifest(
            "no class derives from a Conan recipe",
        ));
    }
    let in_test = source.path.split('/').any(|part| part == "test_package");
    if in_test {
        manifest.deny("test_package");
    } else if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else if tree.all().any(|at| tree.is_word(at, "set_name")) {
        manifest.doubt("set_name()");
    } else {
        manifest.deny("no name");
    }
    Ok(manifest)
}

/// `class X(ConanFile):`, also as `conans.ConanFile`, one base of several, or a house's own
/// `BaseConan`.
fn is_recipe(tree: &Tree<'_>, at: usize) -> bool {
    tree.is_word(at, "class")
        && tree.word(at + 1).is_some()
        && tree.is_open(at + 2, "(")
        && tree
            .inside(at + 2)
            .take(32)
            .any(|base| tree.word(base).is_some_and(|word| word.contains("Conan")))
}

/// The one value that the body of a class gives to a name.
fn class_attribute(
    tree: &Tree<'_>,
    constants: &Constants<'_, '_>,
    class: usize,
    name: &str,
) -> Option<String> {
    let outer = tree.token(class)?.column;
    let body = tree.after(class + 2) + 1;
    let mut inner = None;
    let mut found = None;
    for at in body..tree.len() {
        let token = tree.token(at)?;
        if !token.leads || !tree.begins(at) || tree.within(at).is_some() {
            continue;
        }
        if token.column <= outer {
            break;
        }
        let inner = *inner.get_or_insert(token.column);
        if token.column == inner && token.text == name && tree.is_sign(at + 1, "=") {
            if found.is_some() {
                return None;
            }
            found = Some(constants.text(tree.statement(at + 2, &tree.all()))?);
        }
    }
    found
}
