//! `meta.yaml`: Conda recipes of conda-build, which are YAML after Jinja.

use super::jinja::Template;
use super::{Files, Format, Intent, Manifest, ManifestError, Source, yaml};

pub(super) const FORMAT: Format = Format {
    manifest_type: "conda",
    files: &[Files::Named("meta.yaml")],
    parse,
};

/// Outputs that are kept of one recipe.
pub(super) const MAX_OUTPUTS: usize = 256;

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let template = Template::read(&source.text);
    // Lines with a selector may not even be YAML for other platforms than theirs.
    let unselected;
    let recipe = match yaml::read_text(&template.text) {
        Err(error @ ManifestError::Malformed { .. }) => {
            unselected = without_selected(&template.text);
            yaml::read_text(&unselected).map_err(|_| error)?
        }
        other => other?,
    };
    let Some(package) = recipe.get("package") else {
        return Err(ManifestError::NotAManifest("no key package"));
    };
    if package.entries().is_empty() {
        return Err(ManifestError::NotAManifest("package is not a map"));
    }
    let render = |text: String| template.render(&text);
    let mut manifest = source.named(package.text("name").and_then(render));
    manifest.version = package.text("version").and_then(render);
    manifest.repository = recipe
        .get("about")
        .and_then(|about| about.text("dev_url"))
        .and_then(render);
    manifest.outputs = recipe
        .get("outputs")
        .map_or(&[][..], |outputs| outputs.list())
        .iter()
        .take(MAX_OUTPUTS)
        .filter_map(|output| output.text("name").and_then(render))
        .collect();
    if manifest.name.is_some() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no static name");
    }
    Ok(manifest)
}

/// The text without the lines that end in a selector: `# [win]`.
fn without_selected(text: &str) -> String {
    let selected = |line: &str| {
        line.trim_end().ends_with(']')
            && line
                .rsplit_once('#')
                .is_some_and(|(_, comment)| comment.trim_start().starts_with('['))
    };
    text.lines()
        .filter(|line| !selected(line))
        .flat_map(|line| [line, "\n"])
        .collect()
}
