//! The rooms and their direct dependencies, as `cargo metadata --no-deps` tells them.

use anyhow::Context as _;
use serde_json::Value;

#[derive(Debug)]
pub(super) struct Room {
    pub(super) name: String,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// A dev-dependency; those of build scripts count as ordinary ones.
    pub(super) in_tests: bool,
    /// Its feature `testing` is asked for.
    pub(super) testing: bool,
}

pub(super) fn parse(metadata: &str) -> anyhow::Result<Vec<Room>> {
    let metadata: Value = serde_json::from_str(metadata).context("the answer of cargo metadata")?;
    list(&metadata, "packages")?.iter().map(room).collect()
}

fn room(package: &Value) -> anyhow::Result<Room> {
    let dependencies = list(package, "dependencies")?;
    Ok(Room {
        name: name(package)?,
        dependencies: dependencies
            .iter()
            .map(dependency)
            .collect::<anyhow::Result<_>>()?,
    })
}

fn dependency(value: &Value) -> anyhow::Result<Dependency> {
    let features = list(value, "features")?;
    Ok(Dependency {
        name: name(value)?,
        in_tests: value["kind"] == "dev",
        testing: features.iter().any(|feature| feature == "testing"),
    })
}

fn name(value: &Value) -> anyhow::Result<String> {
    let name = value["name"].as_str().context("a package has no name")?;
    Ok(name.to_owned())
}

fn list<'a>(value: &'a Value, field: &str) -> anyhow::Result<&'a Vec<Value>> {
    let list = value[field].as_array();
    list.with_context(|| format!("cargo metadata has no list of {field}"))
}
