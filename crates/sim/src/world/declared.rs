//! What the files of each repository declare: the truth about manifests.
//!
//! It follows from a repository's number and from the name it was made under, so whoever tells of
//! the same packages (its files, its releases, the registries) tells the same, and a rename moves
//! none of them. Manifests of tests, examples and vendored code are no declarations; they stand in
//! the files only.

use super::Repository;

/// One package that a repository means to publish, or says that it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The word of its ecosystem: `npm`.
    pub ecosystem: &'static str,
    /// Its name there.
    pub package: String,
    /// Where its manifest stands; empty at the root.
    pub directory: String,
    /// `yes` or `denied`.
    pub intent: &'static str,
}

/// By a repository's number.
const ECOSYSTEMS: [&str; 7] = ["npm", "cargo", "pypi", "maven", "rubygems", "nuget", "pub"];

/// How a repository is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One package at the root.
    Plain,
    /// `packages/core` and `packages/cli`.
    Monorepo,
    /// One package, far below the root.
    Deep,
    /// One package that is not to be published.
    Private,
    /// One at the root, and one of another ecosystem beside it.
    Bindings,
    /// Nothing that could be published.
    Bare,
}

/// The packages that a repository declares. None if it has no commit.
pub fn declared(repository: &Repository) -> Vec<Declared> {
    if repository.empty {
        return Vec::new();
    }
    let ecosystem = ecosystem(repository);
    let name = repository.first_name.as_str();
    let one = |ecosystem, name: &str, directory: &str, intent| Declared {
        ecosystem,
        package: package(ecosystem, name),
        directory: directory.to_owned(),
        intent,
    };
    match layout(repository) {
        Layout::Plain => vec![one(ecosystem, name, "", "yes")],
        Layout::Monorepo => ["core", "cli"]
            .map(|part| {
                let directory = format!("packages/{part}");
                one(ecosystem, &format!("{name}-{part}"), &directory, "yes")
            })
            .into(),
        Layout::Deep => vec![one(ecosystem, name, "platform/services/main", "yes")],
        Layout::Private => vec![one(ecosystem, name, "", "denied")],
        Layout::Bindings => {
            let other = if ecosystem == "npm" { "pypi" } else { "npm" };
            vec![
                one(ecosystem, name, "", "yes"),
                one(other, name, &format!("bindings/{other}"), "yes"),
            ]
        }
        Layout::Bare => Vec::new(),
    }
}

pub(crate) fn layout(repository: &Repository) -> Layout {
    let ecosystem = ecosystem(repository);
    match repository.id / 7 % 16 {
        0 | 1 => Layout::Monorepo,
        2 | 3 => Layout::Deep,
        // Gems have no word for it.
        4 if ecosystem != "rubygems" => Layout::Private,
        5 | 6 => Layout::Bindings,
        7 => Layout::Bare,
        _ => Layout::Plain,
    }
}

fn ecosystem(repository: &Repository) -> &'static str {
    ECOSYSTEMS[(repository.id % 7) as usize]
}

/// A repository's name as the ecosystem spells names.
fn package(ecosystem: &str, name: &str) -> String {
    match ecosystem {
        "maven" => format!("org.meadow:{name}"),
        "pub" => name.replace('-', "_"),
        _ => name.to_owned(),
    }
}
