//! Packages that a manifest declares, with the license it gives them.
//!
//! Names and versions are those of the manifest parsers; here is only where each format has its
//! license. A license that a manifest inherits or computes is not guessed.

use facts::purl::{purl, purl_type};
use serde_json::{Map, Value, json};

use super::expression;
use crate::manifest;

/// What a manifest says.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// In the names of ScanCode's package data.
    pub(super) packages: Vec<Value>,
    /// The license in SPDX's words.
    pub(super) spdx: Option<String>,
    /// As it is written.
    pub(super) statement: Option<String>,
    /// A file that holds it.
    pub(super) file: Option<String>,
    /// Names in its list of authors.
    pub(super) authors: Vec<String>,
}

/// What a format says of licenses, as it is written.
#[derive(Debug, Default)]
struct Fields {
    licenses: Vec<String>,
    classifiers: Vec<String>,
    file: Option<String>,
    authors: Vec<String>,
    /// Several mean a choice.
    choice: bool,
}

/// Reads a file that may be a manifest.
pub(super) fn read(path: &str, text: &str) -> Option<Declared> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let fields = fields(name, text);
    let format = manifest::recognise(path);
    let metadata = matches!(name, "PKG-INFO" | "METADATA")
        .then(|| metadata(text))
        .flatten();
    let (kind, package, version) = match (format, metadata) {
        (_, Some((name, version))) => ("pypi", Some(name), version),
        (Some(format), None) => {
            let manifest = format.parse(path, text.as_bytes()).ok();
            let kind = format.manifest_type();
            let (name, version) = manifest
                .map(|manifest| (manifest.effective_name, manifest.version))
                .unwrap_or_default();
            (kind, name, version)
        }
        (None, None) => {
            let fields = fields?;
            return Some(settle(fields, Vec::new()));
        }
    };
    let mut declared = settle(fields.unwrap_or_default(), Vec::new());
    let Some(package) = package else {
        return Some(declared);
    };
    let mut data = Map::new();
    data.insert("type".to_owned(), json!(purl_type(kind).unwrap_or(kind)));
    data.insert("name".to_owned(), json!(package));
    data.insert("version".to_owned(), json!(version));
    data.insert(
        "purl".to_owned(),
        json!(purl(kind, &package, version.as_deref())),
    );
    data.insert(
        "declared_license_expression_spdx".to_owned(),
        json!(declared.spdx),
    );
    data.insert(
        "declared_license_expression".to_owned(),
        json!(declared.spdx.as_deref().map(expression::keys)),
    );
    data.insert(
        "extracted_license_statement".to_owned(),
        json!(declared.statement),
    );
    declared.packages.push(Value::Object(data));
    Some(declared)
}

fn settle(fields: Fields, packages: Vec<Value>) -> Declared {
    let mut read: Vec<String> = Vec::new();
    let mut understood = !fields.licenses.is_empty();
    for license in &fields.licenses {
        match expression::of_name(license) {
            Some(spdx) => read.push(spdx),
            None => understood = false,
        }
    }
    let whole = if understood && fields.choice && read.len() > 1 {
        expression::normalise(&read.join(" OR "))
    } else {
        expression::all_of(read.iter().map(String::as_str))
    };
    let by_class: Vec<String> = fields
        .classifiers
        .iter()
        .filter_map(|class| classifier(class))
        .collect();
    // The two often say the same in two ways; the field is the more exact of them.
    let spdx = whole.or_else(|| expression::all_of(by_class.iter().map(String::as_str)));
    let statement = (!fields.licenses.is_empty()).then(|| fields.licenses.join(", "));
    Declared {
        packages,
        spdx,
        statement: statement.map(|mut text| {
            text.truncate(text.floor_char_boundary(500));
            text
        }),
        file: fields.file,
        authors: fields.authors,
    }
}

/// `License :: OSI Approved :: MIT License`.
fn classifier(class: &str) -> Option<String> {
    let mut parts = class.split("::").map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("license") {
        return None;
    }
    let last = parts.last()?;
    expression::of_name(last)
}

fn fields(name: &str, text: &str) -> Option<Fields> {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match name {
        "Cargo.toml" | "Cargo.toml.orig" => cargo(text),
        "package.json" | "bower.json" | "composer.json" | "component.json" => {
            json_package(text, name == "composer.json")
        }
        "pyproject.toml" => pyproject(text),
        "PKG-INFO" | "METADATA" => Some(python_metadata(text)),
        "setup.cfg" => Some(lines(text, &["license"], Some("classifiers"))),
        "setup.py" => Some(python_setup(text)),
        "pom.xml" => Some(pom(text)),
        "DESCRIPTION" | "dub.sdl" | "opam" => Some(lines(text, &["license"], None)),
        "vcpkg.json" | "dub.json" | "elm.json" | "deno.json" | "jsr.json" => {
            json_package(text, false)
        }
        "META.json" => json_package(text, false),
        "pubspec.yaml" => None,
        "mix.exs" => Some(lines(text, &["licenses"], None)),
        _ => match ending {
            "gemspec" | "podspec" => Some(ruby(text)),
            "cabal" | "opam" | "spec" | "nimble" => Some(lines(text, &["license"], None)),
            "nuspec" => Some(tagged(text, &["license"])),
            "csproj" | "fsproj" | "vbproj" | "props" => {
                Some(tagged(text, &["PackageLicenseExpression"]))
            }
            _ => None,
        },
    }
}

fn cargo(text: &str) -> Option<Fields> {
    let document: toml::Table = toml::from_str(text).ok()?;
    let package = document
        .get("package")
        .or_else(|| document.get("project"))?;
    let word = |key: &str| package.get(key)?.as_str().map(str::to_owned);
    let authors = package.get("authors").and_then(toml::Value::as_array);
    Some(Fields {
        licenses: word("license").into_iter().collect(),
        file: word("license-file"),
        authors: authors
            .into_iter()
            .flatten()
            .filter_map(|author| author.as_str().map(str::to_owned))
            .take(50)
            .collect(),
        ..Fields::default()
    })
}

fn json_package(text: &str, choice: bool) -> Option<Fields> {
    let document: Map<String, Value> = serde_json::from_str(text).ok()?;
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => {
            let word = fields.get("type").or_else(|| fields.get("name"))?;
            word.as_str().map(str::to_owned)
        }
        _ => None,
    };
    let mut licenses = Vec::new();
    let mut several = choice;
    for key in ["license", "licenses"] {
        match document.get(key) {
            Some(Value::Array(list)) => {
                // npm's old list, Composer's list: one may be chosen.
                several = true;
                licenses.extend(list.iter().filter_map(one).take(20));
            }
            Some(value) => licenses.extend(one(value)),
            None => {}
        }
    }
    let mut file = None;
    licenses.retain(|license| {
        let name = license.strip_prefix("SEE LICENSE IN ");
        if let Some(name) = name {
            file = Some(name.trim().to_owned());
        }
        name.is_none()
    });
    Some(Fields {
        licenses,
        file,
        choice: several,
        ..Fields::default()
    })
}

fn pyproject(text: &str) -> Option<Fields> {
    let document: toml::Table = toml::from_str(text).ok()?;
    let project = document.get("project");
    let poetry = document.get("tool").and_then(|tool| tool.get("poetry"));
    let mut fields = Fields::default();
    for table in [project, poetry].into_iter().flatten() {
        match table.get("license") {
            Some(toml::Value::String(text)) => fields.licenses.push(text.clone()),
            Some(toml::Value::Table(inner)) => {
                let word = |key: &str| inner.get(key).and_then(toml::Value::as_str);
                fields.licenses.extend(word("text").map(str::to_owned));
                fields.file = word("file").map(str::to_owned).or(fields.file);
            }
            _ => {}
        }
        let classifiers = table.get("classifiers").and_then(toml::Value::as_array);
        let classifiers = classifiers.into_iter().flatten();
        fields.classifiers.extend(
            classifiers
                .filter_map(|class| class.as_str().map(str::to_owned))
                .take(100),
        );
    }
    Some(fields)
}

/// The headers of a distribution's metadata.
fn python_metadata(text: &str) -> Fields {
    let mut fields = Fields::default();
    for line in text.lines().take_while(|line| !line.is_empty()).take(2_000) {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim().to_owned();
        match key.to_ascii_lowercase().as_str() {
            "license-expression" => fields.licenses.insert(0, value),
            "license" if !value.is_empty() && value != "UNKNOWN" => fields.licenses.push(value),
            "classifier" => fields.classifiers.push(value),
            _ => {}
        }
    }
    fields
}

fn metadata(text: &str) -> Option<(String, Option<String>)> {
    let mut found = (None, None);
    for line in text.lines().take_while(|line| !line.is_empty()).take(2_000) {
        match line.split_once(':') {
            Some(("Name", value)) => found.0 = Some(value.trim().to_owned()),
            Some(("Version", value)) => found.1 = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    found.0.map(|name| (name, found.1))
}

/// `license="MIT"` and classifiers among the arguments.
fn python_setup(text: &str) -> Fields {
    let mut fields = Fields::default();
    for line in text.lines().take(20_000) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("license") {
            let rest = rest.trim_start();
            if let Some(value) = rest.strip_prefix('=').and_then(quoted) {
                fields.licenses.push(value);
            }
        } else if line.contains("License ::")
            && let Some(class) = quoted(line)
        {
            fields.classifiers.push(class);
        }
    }
    fields.licenses.truncate(4);
    fields.classifiers.truncate(100);
    fields
}

/// `Key: value` and `key = value` at the beginning of lines.
fn lines(text: &str, keys: &[&str], list: Option<&str>) -> Fields {
    let mut fields = Fields::default();
    let mut in_list = false;
    for line in text.lines().take(20_000) {
        let indented = line.starts_with([' ', '\t']);
        if in_list && indented && line.contains("::") {
            fields.classifiers.push(line.trim().to_owned());
            continue;
        }
        let Some((key, value)) = line
            .split_once([':', '='])
            .or_else(|| line.trim().split_once(' '))
        else {
            continue;
        };
        let key = key.trim().to_ascii_lowercase();
        in_list = list == Some(key.as_str());
        if keys.contains(&key.as_str()) && fields.licenses.len() < 4 {
            let value = value.trim().trim_matches(['[', ']', ',']);
            let value = value
                .split(" + file")
                .next()
                .unwrap_or(value)
                .split('|')
                .next();
            let value = value.unwrap_or_default().trim().trim_matches(['"', '\'']);
            if !value.is_empty() {
                fields.licenses.push(value.to_owned());
            }
        }
    }
    fields.classifiers.truncate(100);
    fields
}

/// `<licenses><license><name>…</name>`.
fn pom(text: &str) -> Fields {
    let mut fields = Fields::default();
    let Some(from) = text.find("<licenses>") else {
        return fields;
    };
    let to = text[from..]
        .find("</licenses>")
        .map_or(text.len(), |at| from + at);
    fields.licenses = tagged(&text[from..to], &["name"]).licenses;
    fields
}

fn tagged(text: &str, names: &[&str]) -> Fields {
    let mut fields = Fields::default();
    for name in names {
        for part in text.split(&format!("<{name}")).skip(1).take(10) {
            let Some((attributes, rest)) = part.split_once('>') else {
                continue;
            };
            if !(attributes.is_empty() || attributes.starts_with(char::is_whitespace)) {
                continue;
            }
            let Some((value, _)) = rest.split_once("</") else {
                continue;
            };
            if attributes.contains("\"file\"") {
                fields.file = Some(value.trim().to_owned());
            } else {
                fields.licenses.push(value.trim().to_owned());
            }
        }
    }
    fields
}

/// `s.license = "MIT"`, `s.licenses = ["MIT", "GPL-2.0"]`, `:type => 'MIT'`.
fn ruby(text: &str) -> Fields {
    let mut fields = Fields::default();
    for line in text.lines().take(20_000) {
        let line = line.trim();
        let Some((left, right)) = line.split_once('=') else {
            continue;
        };
        let left = left.trim();
        if !(left.ends_with(".license") || left.ends_with(".licenses")) {
            continue;
        }
        let right = right.rsplit_once(":type").map_or(right, |(_, kind)| kind);
        let right = right.rsplit_once("type:").map_or(right, |(_, kind)| kind);
        if right.contains('[') {
            fields.licenses.extend(all_quoted(right));
        } else {
            fields.licenses.extend(quoted(right));
        }
    }
    fields.licenses.truncate(10);
    fields
}

/// The first text in quotes.
fn quoted(text: &str) -> Option<String> {
    all_quoted(text).into_iter().next()
}

fn all_quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(from) = rest.find(['"', '\'']) {
        let quote = rest.as_bytes()[from];
        let inner = &rest[from + 1..];
        let Some(to) = inner.bytes().position(|byte| byte == quote) else {
            break;
        };
        found.push(inner[..to].to_owned());
        rest = &inner[to + 1..];
        if found.len() >= 20 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_declare_their_license() {
        for (path, text, spdx, purl) in [
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\nversion = \"1.0.0\"\nlicense = \"MIT OR Apache-2.0\"\n",
                Some("MIT OR Apache-2.0"),
                Some("pkg:cargo/a@1.0.0"),
            ),
            (
                "x/package.json",
                "{\"name\": \"a\", \"version\": \"1.0.0\", \"license\": \"MIT\"}",
                Some("MIT"),
                Some("pkg:npm/a@1.0.0"),
            ),
            (
                "package.json",
                "{\"name\": \"a\", \"licenses\": [{\"type\": \"MIT\"}, {\"type\": \"GPL-2.0\"}]}",
                Some("MIT OR GPL-2.0-only"),
                Some("pkg:npm/a"),
            ),
            (
                "pyproject.toml",
                "[project]\nname = \"a\"\nversion = \"1\"\nclassifiers = [\"License :: OSI Approved :: BSD License\"]\n",
                Some("BSD-3-Clause"),
                Some("pkg:pypi/a@1"),
            ),
            (
                "PKG-INFO",
                "Metadata-Version: 2.1\nName: Flask\nVersion: 3.0.3\nClassifier: License :: OSI Approved :: BSD License\n\nbody",
                Some("BSD-3-Clause"),
                Some("pkg:pypi/flask@3.0.3"),
            ),
            (
                "pom.xml",
                "<project><groupId>g</groupId><artifactId>a</artifactId><version>1</version><licenses><license><name>The Apache Software License, Version 2.0</name></license></licenses></project>",
                Some("Apache-2.0"),
                Some("pkg:maven/g/a@1"),
            ),
            (
                "a.gemspec",
                "Gem::Specification.new do |s|\n  s.name = 'a'\n  s.version = '1'\n  s.licenses = ['MIT', 'Ruby']\nend\n",
                Some("MIT AND Ruby"),
                Some("pkg:gem/a@1"),
            ),
        ] {
            let read = read(path, text).unwrap();
            assert_eq!(read.spdx.as_deref(), spdx, "{path}");
            let found = read.packages.first().and_then(|one| one["purl"].as_str());
            assert_eq!(found, purl, "{path}");
        }
    }

    #[test]
    fn other_files_declare_nothing() {
        assert!(read("src/main.rs", "fn main() {}").is_none());
        assert!(
            read("Cargo.toml", "not toml at all")
                .unwrap()
                .packages
                .is_empty()
        );
    }
}
