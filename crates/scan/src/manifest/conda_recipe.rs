//! `recipe.yaml`: Conda recipes of rattler-build, YAML with `${{ … }}` in its scalars.

use super::jinja::Variables;
use super::{Files, Format, Intent, Manifest, ManifestError, Source, conda_meta, yaml};

pub(super) const FORMAT: Format = Format {
    manifest_type: "conda",
    files: &[Files::Named("recipe.yaml")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let recipe = yaml::read(source)?;
    if !["package", "recipe", "outputs"]
        .iter()
        .any(|key| recipe.has(key))
    {
        return Err(ManifestError::NotAManifest(
            "neither package nor recipe nor outputs",
        ));
    }
    let mut variables = Variables::default();
    if let Some(context) = recipe.get("context") {
        for (name, value) in context.entries() {
            let value = value.scalar().and_then(|text| render(&variables, text));
            variables.set(name, value);
        }
    }
    let field = |part: &str, key: &str| {
        recipe
            .get(part)
            .and_then(|part| part.text(key))
            .and_then(|text| render(&variables, &text))
    };
    let mut manifest = source.named(field("package", "name"));
    // A recipe of several outputs has a name of its own, under which nothing is published.
    manifest.effective_name = manifest.name.clone().or_else(|| field("recipe", "name"));
    manifest.version = field("package", "version").or_else(|| field("recipe", "version"));
    manifest.repository = field("about", "repository");
    manifest.outputs = recipe
        .get("outputs")
        .map_or(&[][..], |outputs| outputs.list())
        .iter()
        .take(conda_meta::MAX_OUTPUTS)
        .filter_map(|output| output.get("package")?.text("name"))
        .filter_map(|name| render(&variables, &name))
        .collect();
    if manifest.name.is_some() || !manifest.outputs.is_empty() {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no static name");
    }
    Ok(manifest)
}

/// Puts the values of `${{ … }}` into a scalar.
fn render(variables: &Variables, scalar: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = scalar;
    while let Some((before, tagged)) = rest.split_once("${{") {
        let (expression, after) = tagged.split_once("}}")?;
        text.push_str(before);
        text.push_str(&variables.evaluate(expression)?);
        rest = after;
        if text.len() > 512 {
            return None;
        }
    }
    text.push_str(rest);
    Some(text)
}
