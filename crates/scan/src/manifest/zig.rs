//! `build.zig.zon`: Zig packages. There is no index; others fetch them by link.

use std::ops::Range;

use super::syntax::{Dialect, Kind, Tree};
use super::{Files, Format, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "zig",
    files: &[Files::Named("build.zig.zon")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, Dialect::Zig)?;
    if !(tree.is_sign(0, ".") && tree.is_open(1, "{")) {
        return Err(ManifestError::NotAManifest("the document is not a struct"));
    }
    let fields = tree.inside(1);
    let mut manifest = source.named(field(&tree, fields.clone(), "name"));
    manifest.version = field(&tree, fields, "version");
    manifest.doubt("there is no index");
    Ok(manifest)
}

/// `.name = "x"`, `.name = .x` or `.name = .@"x"`.
fn field(tree: &Tree<'_>, fields: Range<usize>, name: &str) -> Option<String> {
    let mut found = tree.items(fields).filter(|item| {
        tree.is_sign(item.start, ".")
            && tree.is_word(item.start + 1, name)
            && tree.is_sign(item.start + 2, "=")
    });
    let item = found.next().filter(|_| found.next().is_none())?;
    let value = item.start + 3;
    let last = item.end.checked_sub(1)?;
    let by_length = match (item.end - value, tree.kind(last)) {
        (1, Some(Kind::Text)) => tree.literal(last),
        (2, Some(Kind::Word)) if tree.is_sign(value, ".") => tree.word(last),
        (3, Some(Kind::Text)) if tree.is_sign(value, ".") && tree.is_sign(value + 1, "@") => {
            tree.literal(last)
        }
        _ => None,
    };
    by_length.map(str::to_owned)
}
