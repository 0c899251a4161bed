//! JSON and TOML documents as the formats ask for them.

use serde_json::{Map, Value};

use super::{ManifestError, Source};

/// A JSON document whose root is an object.
pub(super) fn json(source: &Source<'_>) -> Result<Map<String, Value>, ManifestError> {
    object(serde_json::from_str(&source.text).map_err(|e| malformed("JSON", &e))?)
}

/// JSON in which comments and trailing commas are allowed.
pub(super) fn json_with_comments(source: &Source<'_>) -> Result<Map<String, Value>, ManifestError> {
    let options = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    object(
        jsonc_parser::parse_to_serde_value(&source.text, &options)
            .map_err(|e| malformed("JSON", &e))?,
    )
}

/// A TOML document.
pub(super) fn toml(source: &Source<'_>) -> Result<toml::Table, ManifestError> {
    toml::from_str(&source.text).map_err(|e| ManifestError::Malformed {
        format: "TOML",
        detail: e.message().to_owned(),
    })
}

/// A string member of a JSON object.
pub(super) fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// A string at a path of tables.
pub(super) fn toml_text(table: &toml::Table, path: &[&str]) -> Option<String> {
    toml_at(table, path)?.as_str().map(str::to_owned)
}

/// The value at a path of tables.
pub(super) fn toml_at<'t>(table: &'t toml::Table, path: &[&str]) -> Option<&'t toml::Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(table.get(*first)?, |value, key| value.get(*key))
}

pub(super) fn malformed(format: &'static str, error: &dyn std::fmt::Display) -> ManifestError {
    // An error's text may quote the file; one line of it is enough.
    let detail = error.to_string();
    let line = detail.lines().next().unwrap_or_default();
    ManifestError::Malformed {
        format,
        detail: line.chars().take(200).collect(),
    }
}

fn object(value: Value) -> Result<Map<String, Value>, ManifestError> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(ManifestError::NotAManifest("the document is not an object")),
    }
}
