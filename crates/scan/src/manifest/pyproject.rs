//! `pyproject.toml`: Python, by the standard `[project]` table or an older tool's own.

use toml::{Table, Value};

use super::resolve::Python;
use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "pypi",
    files: &[Files::Named("pyproject.toml")],
    parse,
};

/// The classifier by which an index refuses an upload.
pub(super) const PRIVATE: &str = "Private :: Do Not Upload";

/// Names under which projects list their repository, compared in lower case.
const LINKS: &[&str] = &[
    "repository",
    "source",
    "source code",
    "source-code",
    "code",
    "github",
    "gitlab",
    "sources",
];

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let document = data::toml(source)?;
    let text = |path: &[&str]| data::toml_text(&document, path);
    let project = data::toml_at(&document, &["project"]).and_then(Value::as_table);
    let poetry = data::toml_at(&document, &["tool", "poetry"]).and_then(Value::as_table);
    let flit = data::toml_at(&document, &["tool", "flit", "metadata"]).and_then(Value::as_table);

    let mut manifest = source.named(
        text(&["project", "name"])
            .or_else(|| text(&["tool", "poetry", "name"]))
            .or_else(|| text(&["tool", "flit", "metadata", "dist-name"]))
            .or_else(|| text(&["tool", "flit", "metadata", "module"])),
    );
    manifest.hints.python = Some(Python::Project);
    manifest.version =
        text(&["project", "version"]).or_else(|| text(&["tool", "poetry", "version"]));
    manifest.repository = link(data::toml_at(&document, &["project", "urls"]))
        .or_else(|| text(&["tool", "poetry", "repository"]))
        .or_else(|| link(data::toml_at(&document, &["tool", "poetry", "urls"])));

    let refusal = refusal(&document, &[project, poetry, flit]);
    if let Some(reason) = refusal {
        manifest.deny(reason);
    } else if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt(if project.is_some() {
            "no name"
        } else {
            "no [project]"
        });
    }
    Ok(manifest)
}

fn refusal(document: &Table, tables: &[Option<&Table>]) -> Option<&'static str> {
    let is_false =
        |path: &[&str]| data::toml_at(document, path).and_then(Value::as_bool) == Some(false);
    let private = tables.iter().flatten().any(|table| {
        table
            .get("classifiers")
            .and_then(Value::as_array)
            .is_some_and(|list| list.iter().any(|item| item.as_str() == Some(PRIVATE)))
    });
    if private {
        Some(PRIVATE)
    } else if is_false(&["tool", "poetry", "package-mode"]) {
        Some("package-mode = false")
    } else if is_false(&["tool", "uv", "package"]) {
        Some("package = false")
    } else {
        None
    }
}

fn link(urls: Option<&Value>) -> Option<String> {
    let urls = urls?.as_table()?;
    LINKS.iter().find_map(|wanted| {
        urls.iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .and_then(|(_, link)| link.as_str())
            .map(str::to_owned)
    })
}
