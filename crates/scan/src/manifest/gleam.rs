//! `gleam.toml`: Gleam packages, published on Hex's index.

use super::{Files, Format, Intent, Manifest, ManifestError, Source, data};

pub(super) const FORMAT: Format = Format {
    manifest_type: "gleam",
    files: &[Files::Named("gleam.toml")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let package = data::toml(source)?;
    let text = |path: &[&str]| data::toml_text(&package, path);
    let mut manifest = source.named(text(&["name"]));
    manifest.version = text(&["version"]);
    manifest.repository = repository(&package);
    if manifest.name.is_none() {
        manifest.deny("no name");
    } else if !package.contains_key("licences") {
        // The tool asks for them before it publishes.
        manifest.doubt("no licences");
    } else {
        manifest.intent = Intent::Yes;
    }
    Ok(manifest)
}

/// `repository = { type = "github", user = "a", repo = "b" }`
fn repository(package: &toml::Table) -> Option<String> {
    let text = |key: &str| data::toml_text(package, &["repository", key]);
    if let Some(link) = text("url") {
        return Some(link);
    }
    let host = match text("type")?.as_str() {
        "github" => "github.com",
        "gitlab" => "gitlab.com",
        "bitbucket" => "bitbucket.org",
        "codeberg" => "codeberg.org",
        _ => return None,
    };
    Some(format!(
        "https://{host}/{}/{}",
        text("user")?,
        text("repo")?
    ))
}
