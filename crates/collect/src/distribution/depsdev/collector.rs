//! The run, from top to bottom.

use std::{collections::BTreeMap, time::Duration};

use db::Timestamp;
use engine::{Ending, Enqueue, Run, RunError};
use facts::{evidence::Evidence, json::Attributes, repository::RepositoryUrl};
use serde::Serialize;
use serde_json::{Map, Value};
use store::repositories;

use super::{Client, Mapping, Package, Project, UPSTREAM, knows, project_id};
use crate::{
    collector::{Collector, Need, kind, untracked},
    distribution::{
        Settings, Subject,
        registry_view::{
            Brought, CADENCE, Learned, Missed, Question, addresses, could_not_answer, each, never,
            write,
        },
    },
    http::{Http, Reply, RequestLog, Unknown},
};

/// Asks deps.dev.
#[derive(Clone, Debug)]
pub struct DepsDev {
    http: Http,
    settings: Settings,
}

/// The name under which facts are recorded.
pub(crate) const SOURCE: &str = "depsdev";

/// What a run says of itself.
#[derive(Debug, Default, Serialize)]
struct Report {
    packages: usize,
    rows: usize,
    issue_trackers: usize,
    bundled: usize,
    unreadable: usize,
    capped: bool,
    /// Packages whose details could not be had.
    without_details: usize,
    requests: RequestLog,
}

/// The unit of a repository; one on this machine is in nobody's view.
pub fn unit(id: i64, url: &RepositoryUrl) -> Option<Enqueue> {
    if url.is_local() {
        return None;
    }
    let subject = Subject { repository: id };
    let unit = Enqueue::new(&kind::<DepsDev>(), id.to_string())
        .payload(serde_json::to_value(subject).unwrap_or_default());
    // About other hosts nobody is asked: the answer is known.
    Some(if knows(url.host()) {
        unit.upstream(UPSTREAM)
    } else {
        unit
    })
}

impl DepsDev {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self { http, settings }
    }
}

impl Collector for DepsDev {
    const NAME: &'static str = "distribution/depsdev";
    const SUMMARY: &'static str =
        "asks deps.dev which packages of seven registries come from a repository";
    const VERSION: i64 = 1;
    const CADENCE: Option<Duration> = Some(CADENCE);
    const POOL: &'static str = "distribution-depsdev";
    const MAX_RUN: Duration = Duration::from_mins(30);
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let Some(repository) = repositories::by_id(cx.db(), subject.repository).await? else {
            return Ok(untracked(cx));
        };
        let question = Question {
            repository: repository.id,
            source: SOURCE,
            version: Self::VERSION,
            now: cx.clock().now(),
        };
        let ids: Vec<String> = addresses(cx, &repository)
            .await?
            .iter()
            .filter_map(project_id)
            .collect();
        if ids.is_empty() {
            let why = "deps.dev has no projects on this host";
            return Ok(never(cx, question, why, Report::default()));
        }
        let before = question.before(cx).await?;
        let session = self.http.for_run(cx);
        let client = Client::new(session.clone(), self.settings.clone());
        let again = question.now.plus(self.settings.cadence);
        match ask(&client, &ids, &before, again).await {
            Ok((brought, mut report)) => {
                report.requests = session.log();
                write(cx, question, brought, report).await
            }
            Err(why) => could_not_answer(cx, question, *why, session.log()).await,
        }
    }
}

async fn ask(
    client: &Client,
    ids: &[String],
    before: &[Evidence],
    again: Timestamp,
) -> Result<(Brought, Report), Box<Unknown>> {
    let mut report = Report::default();
    let mut packages: BTreeMap<(String, String), (Mapping, Option<String>)> = BTreeMap::new();
    for (nth, id) in ids.iter().enumerate() {
        let project = match client.project(id).await {
            Reply::Found(project) => project,
            Reply::Absent => continue,
            Reply::Unknown(why) => return Err(why),
        };
        report.count(&project);
        let former = (nth > 0).then(|| id.clone());
        for (key, mapping) in project.packages {
            packages
                .entry(key)
                .or_insert_with(|| (mapping, former.clone()));
        }
    }
    report.packages = packages.len();
    if packages.is_empty() {
        doubt(client, ids, before).await?;
    }

    let keys: Vec<(String, String)> = packages.keys().cloned().collect();
    let (details, missed) = each(keys, |(word, name)| async move {
        client.package(&word, &name).await
    })
    .await?;
    let mut facts = Vec::new();
    for ((key, detail), (mapping, former)) in details.into_iter().zip(packages.into_values()) {
        let known = before
            .iter()
            .find(|one| one.ecosystem == key.0 && one.package == key.1);
        facts.push(fact(key, &mapping, former.as_deref(), &detail, known));
    }
    report.without_details = missed.as_ref().map_or(0, |missed| missed.count);
    let (missing, retry_at) = match &missed {
        Some(Missed { count, first }) => {
            let why = format!("{count} packages could not be asked about: {first}");
            (Some(why), first.retry_at)
        }
        None if report.capped => {
            let why = "the list was cut at 1,500 versions".to_owned();
            (Some(why), Some(again))
        }
        None => (None, None),
    };
    let brought = Brought {
        facts,
        missing,
        retry_at,
    };
    Ok((brought, report))
}

/// Whether it is true that no package comes from here any longer.
async fn doubt(client: &Client, ids: &[String], before: &[Evidence]) -> Result<(), Box<Unknown>> {
    let known = before.iter().find_map(|one| {
        let version = one.version.as_deref()?;
        Some((&one.ecosystem, &one.package, version))
    });
    let Some((ecosystem, package, version)) = known else {
        return Ok(());
    };
    match client.version(ecosystem, package, version).await {
        Reply::Absent => Ok(()),
        Reply::Unknown(why) => Err(why),
        Reply::Found(detail) => {
            let sources = detail.sources();
            let still = sources
                .iter()
                .filter_map(project_id)
                .find(|id| ids.contains(id));
            match still {
                None => Ok(()),
                Some(id) => Err(Box::new(Unknown::contradiction(format!(
                    "deps.dev does not know {id}, and yet says that {ecosystem}/{package} comes from \
                     there"
                )))),
            }
        }
    }
}

impl Report {
    fn count(&mut self, project: &Project) {
        self.rows += project.rows;
        self.issue_trackers += project.issue_trackers;
        self.bundled += project.bundled;
        self.unreadable += project.unreadable;
        self.capped |= project.is_capped();
    }
}

fn fact(
    (ecosystem, package): (String, String),
    mapping: &Mapping,
    former: Option<&str>,
    detail: &Learned<Package>,
    known: Option<&Evidence>,
) -> Evidence {
    let mut attributes = Map::new();
    let mut attribute = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            attributes.insert(name.to_owned(), Value::from(value));
        }
    };
    attribute("relation", Some(&mapping.relation));
    attribute("provenance", mapping.provenance.as_deref());
    // The name under which deps.dev has it, where that is no longer the repository's.
    attribute("listed_as", former);
    let mut evidence = Evidence {
        ecosystem,
        package,
        ..Evidence::default()
    };
    match detail {
        Learned::Found(found) => {
            evidence.version.clone_from(&found.version);
            evidence.version_count = i64::try_from(found.count).ok();
            evidence.first_published_at = found.first;
            evidence.latest_published_at = found.latest;
            attribute("status", found.deprecated.then_some("deprecated"));
        }
        Learned::Absent => {}
        // What was known of it is not lost because today it could not be asked for.
        Learned::Nothing => {
            if let Some(known) = known {
                evidence.version.clone_from(&known.version);
                evidence.version_count = known.version_count;
                evidence.first_published_at = known.first_published_at;
                evidence.latest_published_at = known.latest_published_at;
                let status = known.attributes.to_map().remove("status");
                attribute("status", status.as_ref().and_then(Value::as_str));
            }
        }
    }
    evidence.attributes = Attributes::from(attributes);
    evidence
}
