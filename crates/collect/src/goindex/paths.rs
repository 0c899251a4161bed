//! The import paths of a repository: those that lead to it, those that lead elsewhere, and those
//! that nobody has answered for.

use std::collections::{BTreeMap, BTreeSet};

use scan::go::{ImportRoot, ModuleVersion, PathOrigin};
use store::goindex::{Leads, Root};

/// The paths of one repository.
#[derive(Debug)]
pub(super) struct Paths {
    /// All that lead here: its own, then those that others answer for.
    roots: Vec<ImportRoot>,
    /// How many of them are its own.
    own: usize,
    /// Answers for others, by the path that was asked about.
    answers: BTreeMap<String, Root>,
    /// Whatever go.mod declares is believed.
    trusted: bool,
    unanswered: BTreeSet<String>,
}

/// Whether a declared path counts.
pub(super) enum Verdict {
    Yes,
    /// It does not, and why.
    No(&'static str, String),
    /// Nobody has answered for it yet.
    Unknown,
}

impl Paths {
    pub(super) fn new(own: Vec<ImportRoot>, answers: Vec<Root>, trusted: bool) -> Self {
        let count = own.len();
        let mut roots = own;
        let here = answers.iter().filter(|root| root.leads == Leads::Here);
        for root in here {
            let root = ImportRoot {
                path: root.path.clone(),
                subdir: root.subdir.clone(),
            };
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Self {
            roots,
            own: count,
            answers: answers
                .into_iter()
                .map(|root| (root.asked.clone(), root))
                .collect(),
            trusted,
            unanswered: BTreeSet::new(),
        }
    }

    /// All that are known to lead here.
    pub(super) fn roots(&self) -> &[ImportRoot] {
        &self.roots
    }

    /// Those that somebody has to be asked about.
    pub(super) fn unanswered(&self) -> Vec<&str> {
        self.unanswered.iter().map(String::as_str).collect()
    }

    /// Whether a version counts; a path that nobody has answered for is remembered.
    pub(super) fn judge(&mut self, version: &ModuleVersion) -> Verdict {
        let (PathOrigin::Vanity { root } | PathOrigin::VanitySubdirectory { root, .. }) =
            &version.origin
        else {
            return Verdict::Yes;
        };
        if self.trusted {
            return Verdict::Yes;
        }
        let Some(answer) = self.answers.get(root) else {
            self.unanswered.insert(root.clone());
            return Verdict::Unknown;
        };
        match answer.leads {
            Leads::Here => Verdict::Yes,
            Leads::Elsewhere => {
                let url = answer.url.as_deref().unwrap_or("another repository");
                Verdict::No("leads-elsewhere", format!("{root} leads to {url}"))
            }
            Leads::Nowhere => {
                let why = format!("the host of {root} knows no repository by that path");
                Verdict::No("leads-nowhere", why)
            }
        }
    }

    /// How a path leads to the repository, in a word, and its root.
    pub(super) fn origin(&self, origin: PathOrigin) -> (&'static str, String) {
        match origin {
            PathOrigin::Known { root } => {
                let mut vanity = self.roots.iter().skip(self.own);
                let word = match vanity.find(|known| known.path == root) {
                    None => "known",
                    Some(known) if known.subdir.is_empty() => "vanity",
                    Some(_) => "vanity-subdirectory",
                };
                (word, root)
            }
            PathOrigin::Vanity { root } => ("vanity", root),
            PathOrigin::VanitySubdirectory { root, .. } => ("vanity-subdirectory", root),
        }
    }
}
