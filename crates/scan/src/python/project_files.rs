//! What pyproject.toml and Cargo.toml tell about a project that brings no metadata,
//! and about where its packages are.

use toml::{Table, Value};

use super::metadata::CoreMetadata;

/// The parts of pyproject.toml that matter for a source distribution.
#[derive(Debug, Default)]
pub(super) struct BuildHints {
    pub(super) metadata: Option<CoreMetadata>,
    /// Top-level packages or modules the build tool is told to take.
    pub(super) packages: Vec<String>,
    /// Directories that are put on the import path.
    pub(super) roots: Vec<String>,
    /// The project is built by maturin.
    pub(super) maturin: bool,
    /// The build tool takes the package of the project's name unless told otherwise.
    pub(super) own_name_only: bool,
    /// The module maturin builds, dotted.
    pub(super) native: Option<String>,
}

impl BuildHints {
    /// Reads what can be read; a broken file gives no hints.
    pub(super) fn read(bytes: &[u8]) -> BuildHints {
        let Some(table) = parse(bytes) else {
            return BuildHints::default();
        };
        let mut hints = BuildHints {
            metadata: project(&table),
            ..BuildHints::default()
        };
        let backend = text(at(&table, &["build-system", "build-backend"]));
        hints.maturin = backend.is_some_and(|backend| backend.starts_with("maturin"));
        let by_name = ["flit", "hatchling", "poetry", "pdm", "uv_build"];
        hints.own_name_only =
            backend.is_some_and(|backend| by_name.iter().any(|tool| backend.starts_with(tool)));
        hints.native = text(at(&table, &["tool", "maturin", "module-name"])).map(str::to_owned);
        hints
            .roots
            .extend(text(at(&table, &["tool", "maturin", "python-source"])).map(str::to_owned));
        for path in [
            &["tool", "flit", "module", "name"][..],
            &["tool", "flit", "metadata", "module"],
        ] {
            hints
                .packages
                .extend(text(at(&table, path)).map(str::to_owned));
        }
        for path in texts(at(
            &table,
            &["tool", "hatch", "build", "targets", "wheel", "packages"],
        )) {
            hints.take_path(path);
        }
        for tool in [
            &["tool", "hatch", "build", "targets", "wheel", "only-include"][..],
            &["tool", "hatch", "build", "targets", "wheel", "sources"],
        ] {
            hints
                .roots
                .extend(texts(at(&table, tool)).map(str::to_owned));
        }
        hints
            .packages
            .extend(texts(at(&table, &["tool", "maturin", "python-packages"])).map(str::to_owned));
        hints.packages.extend(
            text(at(&table, &["tool", "uv", "build-backend", "module-name"])).map(str::to_owned),
        );
        hints.packages.extend(
            texts(at(&table, &["tool", "uv", "build-backend", "module-name"])).map(str::to_owned),
        );
        hints.roots.extend(
            text(at(&table, &["tool", "uv", "build-backend", "module-root"])).map(str::to_owned),
        );
        hints
            .roots
            .extend(text(at(&table, &["tool", "pdm", "build", "package-dir"])).map(str::to_owned));
        for entry in list(at(&table, &["tool", "poetry", "packages"])) {
            if let Some(include) = text(entry.get("include")) {
                hints
                    .packages
                    .push(include.split('/').next().unwrap_or(include).to_owned());
            }
            hints
                .roots
                .extend(text(entry.get("from")).map(str::to_owned));
        }
        hints.roots.retain(|root| !root.is_empty() && root != ".");
        hints
    }

    /// `src/package`: the directory is a root, its last part the package.
    fn take_path(&mut self, path: &str) {
        let path = path.trim_matches('/');
        let (root, package) = path.rsplit_once('/').unwrap_or(("", path));
        self.packages
            .push(package.trim_end_matches(".py").to_owned());
        if !root.is_empty() {
            self.roots.push(root.to_owned());
        }
    }
}

/// The metadata of a crate, for sources that bring nothing else.
pub(super) fn cargo_package(bytes: &[u8]) -> Option<CoreMetadata> {
    let table = parse(bytes)?;
    let field = |name: &str| text(at(&table, &["package", name])).map(str::to_owned);
    let maturin = |name: &str| {
        texts(at(&table, &["package", "metadata", "maturin", name]))
            .map(str::to_owned)
            .collect()
    };
    Some(CoreMetadata {
        name: Some(field("name")?),
        version: field("version"),
        summary: field("description"),
        license_expression: field("license"),
        home_page: field("homepage"),
        requires_python: text(at(
            &table,
            &["package", "metadata", "maturin", "requires-python"],
        ))
        .map(str::to_owned),
        requires_dist: maturin("requires-dist"),
        extras: maturin("provides-extra"),
        classifiers: maturin("classifier"),
        ..CoreMetadata::default()
    })
}

/// The module a crate builds: its library's name, else its own.
pub(super) fn cargo_module(bytes: &[u8]) -> Option<String> {
    let table = parse(bytes)?;
    let name = text(at(&table, &["package", "metadata", "maturin", "name"]))
        .or_else(|| text(at(&table, &["lib", "name"])))
        .or_else(|| text(at(&table, &["package", "name"])))?;
    Some(name.replace('-', "_"))
}

/// The `[project]` table as metadata; what it leaves to the build tool is absent.
fn project(table: &Table) -> Option<CoreMetadata> {
    let project = table.get("project").and_then(Value::as_table)?;
    let field = |name: &str| text(project.get(name)).map(str::to_owned);
    let mut requires_dist: Vec<String> = texts(project.get("dependencies"))
        .map(str::to_owned)
        .collect();
    let mut extras = Vec::new();
    if let Some(groups) = project
        .get("optional-dependencies")
        .and_then(Value::as_table)
    {
        for (extra, group) in groups {
            extras.push(extra.clone());
            requires_dist
                .extend(texts(Some(group)).map(|requirement| with_extra(requirement, extra)));
        }
    }
    Some(CoreMetadata {
        name: Some(field("name")?),
        version: field("version"),
        summary: field("description"),
        requires_python: field("requires-python"),
        requires_dist,
        extras,
        classifiers: texts(project.get("classifiers"))
            .map(str::to_owned)
            .collect(),
        license_expression: field("license"),
        ..CoreMetadata::default()
    })
}

fn with_extra(requirement: &str, extra: &str) -> String {
    match requirement.split_once(';') {
        Some((left, marker)) => format!(
            "{}; ({}) and extra == \"{extra}\"",
            left.trim(),
            marker.trim()
        ),
        None => format!("{}; extra == \"{extra}\"", requirement.trim()),
    }
}

fn parse(bytes: &[u8]) -> Option<Table> {
    // Real files are a few kilobytes; the parser's tree is many times its text.
    if bytes.len() > 1 << 20 {
        return None;
    }
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(table.get(*first)?, |value, key| value.get(*key))
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}
