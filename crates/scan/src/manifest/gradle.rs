//! `build.gradle` and `build.gradle.kts`: Gradle, as far as it publishes for Maven.
//!
//! Most build files name nothing: the artifact is called like its directory. Only coordinates that
//! are written down are a declared name.

use std::ops::Range;

use super::resolve::Gradle;
use super::syntax::{Constants, Dialect, Kind, Tree};
use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "maven",
    files: &[
        Files::Named("build.gradle"),
        Files::Named("build.gradle.kts"),
    ],
    parse,
};

/// Plugins that publish, by a part of their name.
const PUBLISHERS: &[&str] = &[
    "maven-publish",
    "maven.publish",
    "plugin-publish",
    "ivy-publish",
];

/// Blocks that hold the coordinates of others.
const OF_OTHERS: &[&str] = &[
    "dependency",
    "dependencies",
    "dependencyManagement",
    "exclusion",
    "parent",
    "plugin",
    "plugins",
];

const MAX_COORDINATES: usize = 16;
const MAX_DEPTH: usize = 64;

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let tree = Tree::read(&source.text, dialect(source))?;
    let build = Build {
        constants: Constants::collect(&tree),
        tree: &tree,
    };
    let group = build.top_level("group");
    let (coordinates, version) = build.coordinates(group.as_deref());
    let mut manifest = source.named(coordinates);
    manifest.version = version.or_else(|| build.top_level("version"));
    let publishes = build.publishes();
    if publishes {
        manifest.intent = Intent::Yes;
    } else {
        manifest.doubt("no publishing plugin");
    }
    let names_artifact = manifest.name.is_some() || build.has_artifact_id();
    let group = group.filter(|_| publishes && !names_artifact);
    manifest.hints.gradle = Some(Gradle::Build { group });
    Ok(manifest)
}

pub(super) fn dialect(source: &Source<'_>) -> Dialect {
    if source.extension() == "kts" {
        Dialect::Kotlin
    } else {
        Dialect::Groovy
    }
}

struct Build<'t, 'a> {
    tree: &'t Tree<'a>,
    constants: Constants<'t, 'a>,
}

impl Build<'_, '_> {
    /// `group:artifact` and version, where both parts of the name are written down.
    fn coordinates(&self, group: Option<&str>) -> (Option<String>, Option<String>) {
        let tree = self.tree;
        let join = |group: Option<String>, artifact: Option<String>| {
            Some(format!("{}:{}", group?, artifact?))
        };
        if let Some(block) = self.block(tree.all(), "mavenPublishing")
            && let Some(call) = block
                .clone()
                .find(|at| tree.is_word(*at, "coordinates") && tree.is_open(at + 1, "("))
        {
            let part = |key: &str, index: usize| {
                let arguments = tree.inside(call + 1);
                let value = tree
                    .keyed(arguments.clone(), key)
                    .or_else(|| tree.items(arguments).nth(index))?;
                self.constants.text(value)
            };
            return (
                join(part("groupId", 0), part("artifactId", 1)),
                part("version", 2),
            );
        }
        if self.block(tree.all(), "publishing").is_some() || self.has_artifact_id() {
            return (self.written_coordinates(group), None);
        }
        let archive = self.top_level("archivesBaseName").or_else(|| {
            let base = self.block(tree.all(), "base")?;
            self.only(base.clone(), "archivesName")
                .or_else(|| self.only(base, "archivesBaseName"))
        });
        (join(group.map(str::to_owned), archive), None)
    }

    /// What all blocks with an `artifactId` say alike: one package, or no telling which.
    fn written_coordinates(&self, group: Option<&str>) -> Option<String> {
        let mut found = None;
        for (block, artifact) in self.artifact_ids() {
            let own_group = self
                .tree
                .inside(block)
                .filter(|at| self.tree.within(*at) == Some(block))
                .filter(|at| self.tree.is_word(*at, "groupId") && self.starts_setting(*at))
                .find_map(|at| self.setting_at(at));
            let group = match own_group {
                Some(value) if !self.is_project_group(&value) => self.constants.text(value)?,
                Some(_) => group?.to_owned(),
                None if self.is_inside(block, &["publications", "publishing"]) => group?.to_owned(),
                None => return None,
            };
            let name = format!("{group}:{}", self.constants.text(artifact)?);
            if found.get_or_insert_with(|| name.clone()) != &name {
                return None;
            }
        }
        found
    }

    fn has_artifact_id(&self) -> bool {
        !self.artifact_ids().is_empty()
    }

    /// Every `artifactId` that is not a dependency's, with the block it stands in.
    fn artifact_ids(&self) -> Vec<(usize, Range<usize>)> {
        let tree = self.tree;
        tree.all()
            .filter(|at| tree.is_word(*at, "artifactId") && self.starts_setting(*at))
            .take(MAX_COORDINATES)
            .filter_map(|at| Some((tree.within(at)?, self.setting_at(at)?)))
            .filter(|(block, _)| tree.is_open(*block, "{") && !self.is_inside(*block, OF_OTHERS))
            .collect()
    }

    /// At the start of a statement, or after `pom.` there.
    fn starts_setting(&self, at: usize) -> bool {
        let tree = self.tree;
        tree.begins(at)
            || at >= 2
                && tree.is_sign(at - 1, ".")
                && tree.is_word(at - 2, "pom")
                && tree.begins(at - 2)
    }

    /// Whether a block or one around it is called by one of these names.
    fn is_inside(&self, block: usize, names: &[&str]) -> bool {
        std::iter::successors(Some(block), |open| self.tree.within(*open))
            .take(MAX_DEPTH)
            .any(|open| self.header(open).is_some_and(|word| names.contains(&word)))
    }

    /// The word before a block, past its arguments: `create("x") {`.
    fn header(&self, open: usize) -> Option<&str> {
        let before = open.checked_sub(1)?;
        let at = match self.tree.mate(before) {
            Some(bracket) if self.tree.kind(before) == Some(Kind::Close) => {
                bracket.checked_sub(1)?
            }
            _ => before,
        };
        self.tree.word(at)
    }

    fn publishes(&self) -> bool {
        let tree = self.tree;
        tree.all().any(|at| match tree.kind(at) {
            Some(Kind::Text) => tree
                .literal(at)
                .is_some_and(|text| PUBLISHERS.iter().any(|plugin| text.contains(plugin))),
            Some(Kind::Word) => {
                (tree.is_word(at, "publishing") && tree.is_open(at + 1, "{"))
                    // `maven-publish` in backticks.
                    || (tree.is_word(at, "maven")
                        && tree.is_sign(at + 1, "-")
                        && tree.is_word(at + 2, "publish"))
            }
            _ => false,
        })
    }

    /// `name = value`, `name value` or `project.name = value` outside of any block.
    fn top_level(&self, name: &str) -> Option<String> {
        let tree = self.tree;
        let mut found = None;
        for at in tree.all() {
            if !tree.is_word(at, name) || tree.within(at).is_some() {
                continue;
            }
            let plain = tree.begins(at);
            let of_project = at >= 2
                && tree.is_sign(at - 1, ".")
                && tree.is_word(at - 2, "project")
                && tree.begins(at - 2);
            if !(plain || of_project) {
                continue;
            }
            let Some(value) = self.setting_at(at) else {
                continue;
            };
            if found.is_some() {
                return None;
            }
            found = Some(self.constants.text(value)?);
        }
        found
    }

    /// The one value of a setting anywhere inside a block.
    fn only(&self, block: Range<usize>, name: &str) -> Option<String> {
        let mut found = None;
        for value in self.settings(block, name) {
            let text = self.constants.text(value)?;
            if found.get_or_insert_with(|| text.clone()) != &text {
                return None;
            }
        }
        found
    }

    /// The values a setting is given inside a block; more than a few are no coordinates.
    fn settings(&self, block: Range<usize>, name: &str) -> Vec<Range<usize>> {
        block
            .filter(|at| self.tree.is_word(*at, name) && self.tree.begins(*at))
            .filter_map(|at| self.setting_at(at))
            .take(MAX_COORDINATES)
            .collect()
    }

    fn setting_at(&self, at: usize) -> Option<Range<usize>> {
        let tree = self.tree;
        let all = tree.all();
        if tree.is_sign(at + 1, "=") {
            Some(tree.statement(at + 2, &all))
        } else if tree.is_sign(at + 1, ".")
            && tree.is_word(at + 2, "set")
            && tree.is_open(at + 3, "(")
        {
            Some(tree.inside(at + 3))
        } else if tree.kind(at + 1) == Some(Kind::Text) {
            Some(tree.statement(at + 1, &all))
        } else {
            None
        }
    }

    fn is_project_group(&self, value: &Range<usize>) -> bool {
        let tree = self.tree;
        match value.len() {
            1 => tree.is_word(value.start, "group"),
            3 => tree.is_word(value.start, "project") && tree.is_word(value.start + 2, "group"),
            _ => false,
        }
    }

    /// The inside of the block `name { … }` at one level.
    fn block(&self, range: Range<usize>, name: &str) -> Option<Range<usize>> {
        let tree = self.tree;
        let mut at = range.start;
        while at < range.end {
            if tree.is_word(at, name) && tree.is_open(at + 1, "{") {
                return Some(tree.inside(at + 1));
            }
            at = tree.after(at);
        }
        None
    }
}
