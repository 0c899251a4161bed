//! The doubles, one file or directory each, and the list of them.

mod answer;
mod budget;
mod depsdev;
mod ecosystems;
mod gitea;
mod github;
mod gitlab;
mod plain;
mod pony_mail;
mod projects;
pub mod python_index;

use std::sync::Arc;

pub use {
    depsdev::DepsDev,
    ecosystems::{Ecosystems, EcosystemsLimits},
    gitea::Gitea,
    github::{GitHub, GitHubLimits},
    gitlab::{GitLab, GitLabLimits},
    plain::Plain,
    pony_mail::{ArchivedMail, PonyMail},
    projects::Projects,
    python_index::PythonIndex,
};

use crate::upstream::Upstream;

/// Everyone there is. A forge of each sort has limits as the public ones do;
/// the ones under `example.org` are self-hosted and have none.
pub fn all() -> Vec<Arc<dyn Upstream>> {
    vec![
        Arc::new(GitHub::public()),
        Arc::new(GitHub::enterprise("github.example.org")),
        Arc::new(GitLab::public()),
        Arc::new(GitLab::own("gitlab.example.org")),
        Arc::new(Gitea::new("codeberg.org")),
        Arc::new(DepsDev::new()),
        Arc::new(Ecosystems::new()),
        Arc::new(Plain::new("plain.example.org")),
        Arc::new(PonyMail::new("lists.apache.org")),
        Arc::new(Projects::new("projects.apache.org")),
        Arc::new(PythonIndex::new("pypi").filled(1, 12)),
    ]
}
