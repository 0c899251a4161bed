//! Lists of a foundation's projects and the repositories they have.
//!
//! Two shapes are read: the Apache Software Foundation's JSON of all projects (an object by their
//! ids, or an array), and DOAP, the RDF that projects describe themselves in. Repositories are given
//! as the addresses of forges; those of the foundation's own git servers lead to their copies on
//! GitHub. Subversion is no address that could be followed.

use facts::repository::{Forge, RepositoryUrl};
use quick_xml::{Reader, events::BytesStart, events::Event};
use serde_json::Value;

/// Longer texts are no list of projects.
const MAX_BYTES: usize = 32 << 20;
/// More repositories than a project has.
const MOST_REPOSITORIES: usize = 1_000;

/// A project of a foundation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// Its id in the list, or its name in small letters.
    pub id: String,
    /// For people.
    pub name: Option<String>,
    /// Who answers for it; several projects may have one.
    pub committee: Option<String>,
    /// Addresses that can be followed, in the order given.
    pub repositories: Vec<String>,
    /// Addresses that cannot.
    pub others: usize,
}

impl Project {
    /// The repository that the project is named after, else the first.
    pub fn core(&self) -> Option<&str> {
        let named = |wanted: &str| {
            self.repositories
                .iter()
                .find(|url| url.rsplit('/').next() == Some(wanted))
        };
        let named = named(&self.id).or_else(|| named(self.committee.as_deref()?));
        named
            .or_else(|| self.repositories.first())
            .map(String::as_str)
    }
}

/// The text is no list of projects.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a list of projects: {0}")]
pub struct NoProjects(String);

/// Reads JSON or DOAP.
pub fn projects(text: &[u8]) -> Result<Vec<Project>, NoProjects> {
    if text.len() > MAX_BYTES {
        return Err(NoProjects(format!("it has more than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8_lossy(text);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let found = if text.starts_with('<') {
        doap(text)?
    } else {
        json(text)?
    };
    if found.is_empty() {
        return Err(NoProjects("it names none".to_owned()));
    }
    Ok(found)
}

fn json(text: &str) -> Result<Vec<Project>, NoProjects> {
    let value: Value = serde_json::from_str(text).map_err(|error| NoProjects(error.to_string()))?;
    let projects: Vec<(Option<String>, Value)> = match value {
        Value::Object(by_id) => by_id
            .into_iter()
            .map(|(id, value)| (Some(id), value))
            .collect(),
        Value::Array(all) => all.into_iter().map(|value| (None, value)).collect(),
        _ => return Err(NoProjects("it is neither an object nor a list".to_owned())),
    };
    let read = |(id, value): (Option<String>, Value)| {
        let text = |name: &str| Some(value.get(name)?.as_str()?.trim().to_owned());
        let name = text("name").filter(|name| !name.is_empty());
        let id = id
            .or_else(|| text("id"))
            .or_else(|| name.as_deref().map(slug))?;
        let mut project = Project {
            id,
            name,
            committee: text("pmc").filter(|pmc| !pmc.is_empty()),
            ..Project::default()
        };
        for name in ["repository", "repositories"] {
            match value.get(name) {
                Some(Value::String(one)) => project.take(one),
                Some(Value::Array(all)) => {
                    for one in all.iter().filter_map(Value::as_str) {
                        project.take(one);
                    }
                }
                _ => {}
            }
        }
        (!project.id.is_empty()).then_some(project)
    };
    Ok(projects.into_iter().filter_map(read).collect())
}

fn doap(text: &str) -> Result<Vec<Project>, NoProjects> {
    let mut reader = Reader::from_str(text);
    let mut projects: Vec<Project> = Vec::new();
    // The elements around the present place, without their namespaces.
    let mut open: Vec<String> = Vec::new();
    loop {
        let event = reader
            .read_event()
            .map_err(|error| NoProjects(error.to_string()))?;
        match event {
            Event::Eof => break,
            Event::Start(start) => {
                let name = see(&start, &open, &mut projects);
                if open.len() < 64 {
                    open.push(name);
                } else {
                    return Err(NoProjects("elements are nested too deeply".to_owned()));
                }
            }
            Event::Empty(start) => drop(see(&start, &open, &mut projects)),
            Event::End(_) => drop(open.pop()),
            Event::Text(said) => {
                let within = open.iter().rev().nth(1).map(String::as_str);
                if let Some(project) = projects.last_mut() {
                    let said = said.trim();
                    match (open.last().map(String::as_str), within) {
                        (Some("name"), Some("Project")) if project.name.is_none() => {
                            project.name = Some(said.to_owned()).filter(|name| !name.is_empty());
                        }
                        (Some("location" | "browse"), _) if !said.is_empty() => project.take(said),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    for project in &mut projects {
        if project.id.is_empty() {
            project.id = project.name.as_deref().map(slug).unwrap_or_default();
        }
    }
    projects.retain(|project| !project.id.is_empty());
    Ok(projects)
}

/// An element begins; answers its name.
fn see(start: &BytesStart<'_>, open: &[String], projects: &mut Vec<Project>) -> String {
    let name = start.local_name().as_ref().to_owned();
    let resource = start.attributes().flatten().find_map(|attribute| {
        (attribute.key.local_name().as_ref() == "resource").then(|| attribute.value.into_owned())
    });
    if name == "Project" {
        projects.push(Project::default());
    } else if let (Some(project), Some(resource)) = (projects.last_mut(), resource) {
        let resource = resource.replace("&amp;", "&");
        match name.as_str() {
            "location" | "browse" => project.take(&resource),
            "pmc" if open.last().is_some_and(|name| name == "Project") => {
                let host = resource.split("://").nth(1).unwrap_or(&resource);
                let label = host.split(['.', '/']).next().unwrap_or_default();
                project.committee = Some(label.to_lowercase()).filter(|label| !label.is_empty());
            }
            _ => {}
        }
    }
    name
}

impl Project {
    fn take(&mut self, said: &str) {
        match followed(said) {
            Some(url) => {
                if !self.repositories.contains(&url) && self.repositories.len() < MOST_REPOSITORIES
                {
                    self.repositories.push(url);
                }
            }
            None => self.others += 1,
        }
    }
}

/// The address of a repository on a forge; none for what cannot be followed.
fn followed(said: &str) -> Option<String> {
    let said = said.trim();
    let host = said.split("://").nth(1).unwrap_or(said);
    let (host, path) = host.split_once('/')?;
    if matches!(
        host,
        "gitbox.apache.org" | "git-wip-us.apache.org" | "git.apache.org" | "git-wip-us.asf"
    ) {
        // `repos/asf/kafka.git` and `repos/asf?p=kafka.git;a=summary`
        let name = path
            .split_once("p=")
            .map_or_else(|| path.rsplit('/').next(), |(_, name)| Some(name))?;
        let name = name.split([';', '&', '#']).next()?;
        let name = name.strip_suffix(".git").unwrap_or(name);
        let sound = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        return sound.then(|| format!("https://github.com/apache/{name}"));
    }
    let url = RepositoryUrl::parse(said).ok()?;
    let is_forge = matches!(
        url.forge(),
        Forge::GitHub | Forge::GitLab | Forge::Gitea | Forge::Bitbucket
    );
    is_forge.then(|| url.url())
}

fn slug(name: &str) -> String {
    let name = name.to_lowercase();
    let name = name.strip_prefix("apache ").unwrap_or(&name);
    let letters = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    letters.collect::<String>().trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_foundations_json_is_read() {
        let text = br#"{
            "kafka": {"name": "Apache Kafka", "pmc": "kafka",
                "repository": ["https://gitbox.apache.org/repos/asf/kafka-site.git",
                    "https://gitbox.apache.org/repos/asf/kafka.git"]},
            "commons-io": {"name": "Apache Commons IO", "pmc": "commons",
                "repository": "https://gitbox.apache.org/repos/asf?p=commons-io.git;a=summary"},
            "old": {"name": "Apache Old", "repository": ["http://svn.apache.org/repos/asf/old/"]},
            "odd": 7
        }"#;
        let found = projects(text).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|one| {
                (
                    one.id.as_str(),
                    one.committee.as_deref(),
                    one.core(),
                    one.others,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (
                    "commons-io",
                    Some("commons"),
                    Some("https://github.com/apache/commons-io"),
                    0
                ),
                (
                    "kafka",
                    Some("kafka"),
                    Some("https://github.com/apache/kafka"),
                    0
                ),
                ("odd", None, None, 0),
                ("old", None, None, 1),
            ]
        );
    }

    #[test]
    fn doap_is_read() {
        let text = br#"<?xml version="1.0"?>
<rdf:RDF xmlns="http://usefulinc.com/ns/doap#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:asfext="http://projects.apache.org/ns/asfext#">
  <Project rdf:about="https://meadow.apache.org">
    <name>Apache Meadow</name>
    <asfext:pmc rdf:resource="https://meadow.apache.org"/>
    <repository><GitRepository>
      <location rdf:resource="https://gitbox.apache.org/repos/asf/meadow.git"/>
      <browse rdf:resource="https://github.com/apache/meadow"/>
    </GitRepository></repository>
    <repository><SVNRepository><location rdf:resource="https://svn.apache.org/repos/asf/meadow"/></SVNRepository></repository>
  </Project>
</rdf:RDF>"#;
        let found = projects(text).unwrap();
        assert_eq!(
            found,
            [Project {
                id: "meadow".into(),
                name: Some("Apache Meadow".into()),
                committee: Some("meadow".into()),
                repositories: vec!["https://github.com/apache/meadow".into()],
                others: 1,
            }]
        );
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", "7", "{}", "[]", "<html>", "<a></b>", "{\"x\""] {
            assert!(projects(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<Vec<u8>>(), tail in "[<>a-z/\"= ]{0,60}") {
            let _ = projects(&text);
            let _ = projects(format!("<Project>{tail}").as_bytes());
            let _ = followed(&tail);
        }
    }
}
