//! Which published package comes from which manifest, and where publishing and declaring disagree.
//!
//! Pure functions of what was observed: [`judge`] takes the evidence of registries, the manifests,
//! how every source answered and what the registry says of declared names, and returns pairings
//! and gaps. Two rules stand above the others: a name is compared by its ecosystem's own rule
//! ([`compare`]), and nothing is called missing while somebody who could know has not answered.
//!
//! | grade | declared | published |
//! |---|---|---|
//! | `orphan` | and meant to be published | nowhere, and everybody who could know has said so |
//! | `name-differs` | under one name | under another, and there is good reason to take the two for one |
//! | `name-conflict` | under a name | that in the registry belongs to another repository |
//! | `undeclared` | nowhere in the tree | under a name |
//! | `unknown` | either | cannot be told: somebody could not answer |
//!
//! What is no gap: manifests of tests, examples, templates and vendored code; those that forbid
//! publishing; ecosystems in which the repository itself is the publication (Swift packages,
//! actions) or whose recipes live in somebody's collection. Redistributors (distributions,
//! Homebrew, …) do not make a package published by its project, and an asset of a release is a
//! download, not a publication.
//!
//! Good reasons to take a package for a declaration of another name: the registry or the package's
//! path names the directory; the names are variants of one (`foo`, `python-foo`, `@owner/foo`), and
//! of no third; one of each is left over in the family, and their names have nothing in common.
//! `foo-extras` beside `foo` is another package: the one is undeclared, the other an orphan.

mod coverage;
mod declared;
mod gaps;
mod names;
mod pairing;
mod published;
mod purls;
mod resemblance;

use serde::Serialize;

pub use coverage::covers;
pub use names::{Likeness, comparable, compare, family};
pub use purls::package_url;

use crate::{
    evidence::Evidence,
    manifest::{ManifestFact, words},
};

/// The source words of published packages and manifests.
pub mod source {
    /// The registry view of deps.dev.
    pub const DEPSDEV: &str = "depsdev";
    /// The package catalogue of ecosyste.ms.
    pub const ECOSYSTEMS: &str = "ecosystems";
    /// Files attached to releases.
    pub const RELEASES: &str = "releases";
    /// The forge's own package registry.
    pub const PACKAGES: &str = "packages";
    /// The repository's tree.
    pub const MANIFESTS: &str = "manifests";
}

/// All that is known of one repository.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'o> {
    /// The word of its forge: what its package registry can hold depends on it.
    pub forge: &'o str,
    /// Who owns it: a name with the owner's before it is a usual way out when one is taken.
    pub owner: &'o str,
    /// Published packages with who says so, without those that are gone.
    pub evidence: &'o [(&'o str, &'o Evidence)],
    /// Manifests, without those that are gone.
    pub manifests: &'o [&'o ManifestFact],
    /// The sources that can be asked about it, and how they answered.
    pub sources: &'o [SourceAnswer],
    /// Whether the registry is asked for declared names. A name that it was not asked for yet is
    /// then unknown.
    pub names_are_asked: bool,
    /// What the registry says of declared names.
    pub checks: &'o [NameCheck],
}

/// How a source that can be asked about a repository has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceAnswer {
    /// Its word.
    pub source: String,
    /// The last asking brought the whole answer.
    pub complete: bool,
    /// Why it did not.
    pub why: Option<String>,
}

/// What the registry says of a declared name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameCheck {
    /// The ecosystem word.
    pub ecosystem: String,
    /// The declared name.
    pub name: String,
    /// Whose it is.
    pub verdict: Verdict,
    /// The repository that the registry links it to, where it is another one.
    pub linked: Option<String>,
}

words! {
    /// Whose a name is in the registry.
    pub enum Verdict {
        /// Nobody's.
        Absent = "absent",
        /// The repository's.
        Ours = "ours",
        /// Somebody else's, or nobody says whose.
        Other = "other",
        /// It is linked to what may be the repository itself, at another address.
        Unclear = "unclear",
    }
}

/// A published package and the manifest it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pairing {
    /// The ecosystem word of the package.
    pub ecosystem: String,
    /// The package, as it is published.
    pub package: String,
    /// Its package URL, where there is one.
    pub purl: Option<String>,
    /// The manifest.
    pub path: String,
    /// The directory of the manifest; empty at the top.
    pub directory: String,
    /// By what the two were brought together.
    pub how: How,
    /// How sure that is.
    pub confidence: Confidence,
}

words! {
    /// By what a package was paired with a manifest.
    pub enum How {
        /// The same name, by the rule of the ecosystem.
        Name = "name",
        /// The same identifier.
        Uuid = "uuid",
        /// A further package that the manifest says it makes.
        Output = "output",
        /// The registry knows the declared name and links it here.
        Registry = "registry",
        /// The directory that the registry or the package's path names.
        Directory = "directory",
        /// The package is named by its repository.
        Repository = "repository",
        /// Of those left over, only these two have names that are variants of one.
        Resemblance = "resemblance",
        /// One manifest and one package of the family were left over.
        Leftover = "leftover",
    }
}

words! {
    /// How sure a pairing is.
    #[derive(PartialOrd, Ord)]
    pub enum Confidence {
        /// A guess from what was left over, or from half a name.
        Weak = "weak",
        /// The names agree, and the link is as true as the package's own metadata.
        Likely = "likely",
        /// The names agree, and an attestation or the registry's own check says so too.
        Sure = "sure",
    }
}

/// A disagreement between what a repository declares and what is published from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The ecosystem word.
    pub ecosystem: String,
    /// The declared name; of a package that no manifest declares, the published one.
    pub name: String,
    /// What it is.
    pub grade: Grade,
    /// Its package URL, where there is one.
    pub purl: Option<String>,
    /// The manifest that declares it.
    pub path: Option<String>,
    /// The package that is published instead.
    pub package: Option<String>,
    /// The repository that the name belongs to.
    pub linked: Option<String>,
    /// Why it is what it is, in words.
    pub reason: Option<String>,
}

words! {
    /// What a gap is, the weakest first.
    #[derive(PartialOrd, Ord)]
    pub enum Grade {
        /// Somebody who could know has not answered.
        Unknown = "unknown",
        /// Published, and no manifest declares it.
        Undeclared = "undeclared",
        /// Declared under a name that belongs to another repository.
        NameConflict = "name-conflict",
        /// Declared under one name and published under another.
        NameDiffers = "name-differs",
        /// Declared, meant to be published, and nowhere published.
        Orphan = "orphan",
    }
}

impl Grade {
    /// All of them, the strongest first.
    pub const ALL: [Self; 5] = [
        Self::Orphan,
        Self::NameDiffers,
        Self::NameConflict,
        Self::Undeclared,
        Self::Unknown,
    ];
}

/// What follows from what was observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// By ecosystem and package.
    pub pairings: Vec<Pairing>,
    /// By ecosystem and name.
    pub gaps: Vec<Gap>,
    /// How many of them are unknown because the registry has not been asked for the name yet.
    pub unchecked: usize,
}

/// Pairs packages with manifests and grades what is left.
pub fn judge(observed: &Observed<'_>) -> Judgement {
    let packages = published::packages(observed.evidence);
    let declarations = declared::declarations(observed.manifests);
    let matched = pairing::pair(&packages, &declarations, observed);
    let (gaps, unchecked) = gaps::grade(observed, &packages, &declarations, &matched);
    let mut pairings = pairing::table(observed, &packages, &declarations, &matched);
    pairings.sort_by(|a, b| (&a.ecosystem, &a.package).cmp(&(&b.ecosystem, &b.package)));
    pairings.dedup_by(|a, b| (&a.ecosystem, &a.package) == (&b.ecosystem, &b.package));
    Judgement {
        pairings,
        gaps,
        unchecked,
    }
}
