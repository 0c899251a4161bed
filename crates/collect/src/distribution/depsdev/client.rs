//! The questions that deps.dev is asked.

use facts::repository::RepositoryUrl;
use serde::de::DeserializeOwned;

use super::read::{
    Package, PackageVersions, Project, ProjectInfo, ProjectVersions, VersionDetail, system,
};
use crate::{
    distribution::Settings,
    http::{Ask, Decoded, Reply, Session, segment},
};

/// Whom these collectors ask.
pub const UPSTREAM: &str = "deps.dev";

/// The hosts whose repositories deps.dev knows as projects.
const HOSTS: [&str; 3] = ["github.com", "gitlab.com", "bitbucket.org"];

/// deps.dev, in the hands of one run.
#[derive(Clone, Debug)]
pub struct Client {
    session: Session,
    settings: Settings,
}

impl Client {
    /// Asks in this session.
    pub fn new(session: Session, settings: Settings) -> Self {
        Self { session, settings }
    }

    /// The packages that come from a project.
    pub async fn project(&self, id: &str) -> Reply<Project> {
        // The id is one segment. With its slashes bare it would be another path, and that answers
        // as if the project were unknown.
        let path = format!("/v3/projects/{}:packageversions", segment(id));
        let answer: Reply<Decoded<ProjectVersions>> = self.ask(path).await;
        answer.map(|decoded| decoded.value.into())
    }

    /// Whether it knows a project, whatever comes from it.
    pub async fn knows(&self, id: &str) -> Reply<()> {
        let path = format!("/v3/projects/{}", segment(id));
        let answer: Reply<Decoded<ProjectInfo>> = self.ask(path).await;
        answer.map(drop)
    }

    /// A package by itself: how many versions, since when.
    pub async fn package(&self, ecosystem: &str, name: &str) -> Reply<Package> {
        let Some(path) = path(ecosystem, name) else {
            return Reply::Absent;
        };
        let answer: Reply<Decoded<PackageVersions>> = self.ask(path).await;
        answer.map(|decoded| decoded.value.into())
    }

    /// What one version says of itself.
    pub async fn version(
        &self,
        ecosystem: &str,
        name: &str,
        version: &str,
    ) -> Reply<VersionDetail> {
        let Some(path) = path(ecosystem, name) else {
            return Reply::Absent;
        };
        let path = format!("{path}/versions/{}", segment(version));
        let answer: Reply<Decoded<VersionDetail>> = self.ask(path).await;
        answer.map(|decoded| decoded.value)
    }

    async fn ask<T: DeserializeOwned>(&self, path: String) -> Reply<Decoded<T>> {
        let ask = Ask::get(UPSTREAM, path).same_for_all();
        self.session.ask_json(&self.settings.signed(ask)).await
    }
}

/// The id of a repository as a project, where deps.dev can know it. The forges on these hosts
/// ignore case, and deps.dev writes ids in lower case.
pub fn project_id(url: &RepositoryUrl) -> Option<String> {
    HOSTS.contains(&url.host()).then(|| url.key())
}

/// Whether deps.dev can know repositories of this host.
pub fn knows(host: &str) -> bool {
    HOSTS.contains(&host)
}

fn path(ecosystem: &str, name: &str) -> Option<String> {
    let system = system(ecosystem)?;
    Some(format!("/v3/systems/{system}/packages/{}", segment(name)))
}
