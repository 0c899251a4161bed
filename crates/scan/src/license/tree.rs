//! From the files of a tree to the license of the whole.
//!
//! What a scanner says of a file is the same in every tree. Here is what is not: the file that "see
//! LICENSE" leads to, the packages of the tree, how often each license and holder stands in it, and
//! which license the project gives itself.

use std::collections::{BTreeMap, HashMap};

use facts::license::{Findings, UNKNOWN_REFERENCE};
use serde::Serialize;

use super::{expression, sort::is_license_file};
use crate::manifest::{Place, place};

/// A file of the tree with what was found in it.
#[derive(Clone, Copy, Debug)]
pub struct TreeFile<'a> {
    /// From the top, with `/`.
    pub path: &'a str,
    /// What was found.
    pub findings: &'a Findings,
}

/// What only the tree tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Settled {
    /// Files whose expression is another one here, by their place in the list: SPDX.
    pub resolved: BTreeMap<usize, Resolved>,
    /// The packages of the tree.
    pub packages: Vec<Package>,
    /// Licenses and in how many files they are, the most frequent first.
    pub licenses: Vec<Tally>,
    /// Holders likewise.
    pub holders: Vec<Tally>,
    /// The license that the project gives itself.
    pub primary: Option<String>,
    /// Where that stands: `manifest`, `license-file` or `readme`.
    pub primary_from: Option<&'static str>,
}

/// An expression that a reference led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// The expression.
    pub spdx: String,
    /// The files it was taken from.
    pub from: Vec<String>,
}

/// A package that the tree declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Its package URL, where it has one.
    pub purl: Option<String>,
    /// The manifest.
    pub path: String,
    /// The license that it declares, references followed.
    pub spdx: Option<String>,
}

/// How often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// What.
    pub value: String,
    /// In how many files.
    pub files: usize,
}

/// Puts the files of a tree together.
pub fn settle(files: &[TreeFile<'_>]) -> Settled {
    let names = Names::of(files);
    let mut settled = Settled::default();
    for (at, file) in files.iter().enumerate() {
        if let Some(resolved) = resolve(files, &names, file) {
            settled.resolved.insert(at, resolved);
        }
    }
    let spdx = |at: usize| -> Option<&str> {
        let resolved = settled.resolved.get(&at).map(|one| one.spdx.as_str());
        resolved.or(files[at].findings.spdx.as_deref())
    };
    let mut licenses: HashMap<String, usize> = HashMap::new();
    let mut holders: HashMap<&str, usize> = HashMap::new();
    let mut packages = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if let Some(found) = spdx(at) {
            for id in expression::identifiers(found) {
                *licenses.entry(id).or_default() += 1;
            }
        }
        let mut seen: Vec<&str> = Vec::new();
        for holder in &file.findings.holders {
            if !seen.contains(&holder.value.as_str()) {
                seen.push(&holder.value);
                *holders.entry(&holder.value).or_default() += 1;
            }
        }
        for package in &file.findings.package_data {
            let purl = package.get("purl").and_then(serde_json::Value::as_str);
            let declared = package
                .get("declared_license_expression_spdx")
                .and_then(serde_json::Value::as_str)
                .filter(|declared| !declared.contains(UNKNOWN_REFERENCE));
            let declared = declared.map(str::to_owned).or_else(|| {
                let resolved = settled.resolved.get(&at);
                resolved.map(|one| one.spdx.clone())
            });
            if purl.is_some() || declared.is_some() {
                packages.push(Package {
                    purl: purl.map(str::to_owned),
                    path: file.path.to_owned(),
                    spdx: declared,
                });
            }
        }
    }
    let primary = primary(files, &packages, spdx);
    settled.packages = packages;
    settled.licenses = tally(licenses);
    settled.holders = tally(
        holders
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect(),
    );
    if let Some((spdx, from)) = primary {
        (settled.primary, settled.primary_from) = (Some(spdx), Some(from));
    }
    settled
}

fn tally(counts: HashMap<String, usize>) -> Vec<Tally> {
    let mut list: Vec<Tally> = counts
        .into_iter()
        .map(|(value, files)| Tally { value, files })
        .collect();
    list.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.value.cmp(&b.value)));
    list
}

/// The files of each directory, by their names in lower case.
struct Names<'a>(HashMap<(&'a str, String), usize>);

impl<'a> Names<'a> {
    fn of(files: &[TreeFile<'a>]) -> Self {
        let mut names = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            let (directory, name) = split(file.path);
            names.insert((directory, name.to_lowercase()), at);
        }
        Self(names)
    }

    /// The file of this name beside the other one, or nearer the top.
    fn find(&self, path: &str, name: &str) -> Option<usize> {
        let name = name.trim_start_matches("./").to_lowercase();
        let (above, name) = match name.rsplit_once('/') {
            Some((directory, name)) => (directory.to_owned(), name.to_owned()),
            None => (String::new(), name),
        };
        let mut directory = split(path).0;
        loop {
            let place = match (directory, above.as_str()) {
                (inner, "") => inner.to_owned(),
                ("", outer) => outer.to_owned(),
                (inner, outer) => format!("{inner}/{outer}"),
            };
            for ending in ["", ".txt", ".md", ".rst"] {
                let found = self.0.get(&(place.as_str(), format!("{name}{ending}")));
                if let Some(found) = found {
                    return Some(*found);
                }
            }
            if directory.is_empty() {
                return None;
            }
            directory = split(directory).0;
        }
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The expression of a file whose text leads to other files.
fn resolve(files: &[TreeFile<'_>], names: &Names<'_>, file: &TreeFile<'_>) -> Option<Resolved> {
    let mut parts: Vec<String> = Vec::new();
    let mut from: Vec<String> = Vec::new();
    for detection in &file.findings.license_detections {
        let references = detection
            .matches
            .iter()
            .flat_map(|one| &one.referenced_filenames);
        let mut led = false;
        for name in references {
            let Some(at) = names.find(file.path, name) else {
                continue;
            };
            let target = &files[at];
            // One that itself leads elsewhere says nothing.
            let said = target.findings.spdx.as_deref();
            let said =
                said.filter(|said| target.path != file.path && !said.contains(UNKNOWN_REFERENCE));
            if let Some(said) = said {
                led = true;
                if !from.iter().any(|known| known == target.path) {
                    from.push(target.path.to_owned());
                }
                if !expression::is_reference(&detection.license_expression_spdx) {
                    parts.push(detection.license_expression_spdx.clone());
                }
                parts.push(said.to_owned());
            }
        }
        if !led {
            parts.push(detection.license_expression_spdx.clone());
        }
    }
    if from.is_empty() {
        return None;
    }
    let spdx = expression::all_of(parts.iter().map(String::as_str))?;
    (Some(spdx.as_str()) != file.findings.spdx.as_deref()).then_some(Resolved { spdx, from })
}

/// What the project says of itself: its manifests nearest the top, else its license files there,
/// else its README.
fn primary<'s>(
    files: &[TreeFile<'_>],
    packages: &[Package],
    spdx: impl Fn(usize) -> Option<&'s str>,
) -> Option<(String, &'static str)> {
    let depth = |path: &str| path.matches('/').count();
    let own = |path: &str| place(path) == Place::Ordinary;
    let told = |one: &&Package| {
        one.spdx
            .as_deref()
            .is_some_and(|spdx| !spdx.contains(UNKNOWN_REFERENCE))
    };
    let declared: Vec<&Package> = packages
        .iter()
        .filter(told)
        .filter(|one| own(&one.path))
        .collect();
    let at_top: Vec<&str> = declared
        .iter()
        .filter(|one| depth(&one.path) == 0)
        .filter_map(|one| one.spdx.as_deref())
        .collect();
    if let Some(spdx) = expression::all_of(at_top) {
        return Some((spdx, "manifest"));
    }
    let held: Vec<&str> = (0..files.len())
        .filter(|at| depth(files[*at].path) == 0 && is_license_file(files[*at].path))
        .filter_map(&spdx)
        .collect();
    if let Some(spdx) = expression::all_of(held) {
        return Some((spdx, "license-file"));
    }
    let shallowest = declared.iter().map(|one| depth(&one.path)).min();
    let inner = declared
        .iter()
        .filter(|one| Some(depth(&one.path)) == shallowest)
        .filter_map(|one| one.spdx.as_deref());
    if let Some(spdx) = expression::all_of(inner) {
        return Some((spdx, "manifest"));
    }
    let readme = (0..files.len())
        .filter(|at| depth(files[*at].path) == 0)
        .filter(|at| files[*at].path.to_lowercase().starts_with("readme"))
        .find_map(|at| spdx(at).filter(|spdx| !spdx.contains(UNKNOWN_REFERENCE)));
    readme.map(|spdx| (spdx.to_owned(), "readme"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::license::scan_file;

    fn settled(files: &[(&str, &str)]) -> (Settled, Vec<Findings>) {
        let found: Vec<Findings> = files
            .iter()
            .map(|(path, text)| scan_file(path, text.as_bytes()))
            .collect();
        let list: Vec<TreeFile<'_>> = files
            .iter()
            .zip(&found)
            .map(|((path, _), findings)| TreeFile { path, findings })
            .collect();
        (settle(&list), found)
    }

    fn bsd() -> &'static str {
        spdx::license_id("BSD-3-Clause").unwrap().text()
    }

    #[test]
    fn a_reference_leads_to_the_license_of_the_tree() {
        let header = "/* Copyright (c) 2020 Example Corp.\n * Licensed under the BSD license. See LICENSE file in the project root. */\n";
        let (settled, found) = settled(&[("LICENSE", bsd()), ("src/foo.c", header)]);
        assert!(
            found[1]
                .spdx
                .as_deref()
                .unwrap()
                .contains(UNKNOWN_REFERENCE)
        );
        assert_eq!(settled.resolved[&1].spdx, "BSD-3-Clause");
        assert_eq!(settled.resolved[&1].from, ["LICENSE"]);
        assert_eq!(settled.primary.as_deref(), Some("BSD-3-Clause"));
        assert_eq!(
            settled.licenses,
            [Tally {
                value: "BSD-3-Clause".to_owned(),
                files: 2
            }]
        );
    }

    #[test]
    fn nothing_to_lead_to_leaves_it_open() {
        let (settled, found) =
            settled(&[("a.c", "/* See the LICENSE file for license details. */")]);
        assert!(settled.resolved.is_empty());
        assert_eq!(found[0].spdx.as_deref(), Some(UNKNOWN_REFERENCE));
        assert_eq!(settled.primary, None);
    }

    #[test]
    fn the_manifest_at_the_top_speaks_for_the_whole() {
        let cargo =
            "[package]\nname = \"a\"\nversion = \"1.0.0\"\nlicense = \"MIT OR Apache-2.0\"\n";
        let other = "{\"name\": \"b\", \"version\": \"1.0.0\", \"license\": \"ISC\"}";
        let (settled, _) = settled(&[
            ("Cargo.toml", cargo),
            ("LICENSE", bsd()),
            ("vendor/b/package.json", other),
        ]);
        assert_eq!(settled.primary.as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!(settled.primary_from, Some("manifest"));
        assert_eq!(settled.packages.len(), 2);
        let both = settled
            .licenses
            .iter()
            .map(|one| one.value.as_str())
            .collect::<Vec<_>>();
        assert_eq!(both, ["Apache-2.0", "BSD-3-Clause", "ISC", "MIT"]);
    }
}
