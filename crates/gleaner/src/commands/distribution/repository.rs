//! One repository: both tables, and how every source stands with it.

use ::db::Timestamp;
use engine::{Engine, State};
use facts::{distribution::Pairing, kept::Kept, repository::RepositoryUrl};
use serde::Serialize;
use store::{
    distribution::{Report, report},
    repositories::Repository,
    sources::SourceState,
};

use crate::{
    commands::{repo, unit},
    error::{Exit, Failure, Result, codes},
    printer::{Format, Row},
    rounds,
    session::Session,
};

/// The most rows of each table; the lists and the API have the rest.
const MOST: usize = 1000;
/// The kinds of this round.
const ROUND: &str = "distribution/";

/// How a source stands with a repository, and when it is asked next.
#[derive(Clone, Debug, Serialize)]
pub(in crate::commands) struct SourceView {
    pub(in crate::commands) source: String,
    last_asked: Option<Timestamp>,
    last_answered: Option<Timestamp>,
    complete: Option<bool>,
    pub(in crate::commands) error: Option<String>,
    failures: Option<i64>,
    /// The unit that asks it, as kind:key.
    unit: Option<String>,
    state: Option<State>,
    strikes: Option<i64>,
    next_run: Option<Timestamp>,
    pub(in crate::commands) why: Option<String>,
}

impl Row for SourceView {
    const COLUMNS: &'static [&'static str] = &[
        "source",
        "last_asked",
        "last_answered",
        "complete",
        "error",
        "failures",
        "unit",
        "state",
        "strikes",
        "next_run",
        "why",
    ];
    const TABLE: &'static [&'static str] = &[
        "source",
        "complete",
        "last_answered",
        "error",
        "strikes",
        "next_run",
        "why",
    ];
}

impl Row for Kept<Pairing> {
    const COLUMNS: &'static [&'static str] = &[
        "ecosystem",
        "package",
        "path",
        "how",
        "confidence",
        "purl",
        "changed_at",
    ];
    const TABLE: &'static [&'static str] = &["ecosystem", "package", "path", "how", "confidence"];
}

/// The report, with the units behind its sources.
#[derive(Serialize)]
struct Shown<'r> {
    id: i64,
    url: &'r str,
    archived: bool,
    presence: Option<&'r str>,
    fork: Option<bool>,
    sources: &'r [SourceView],
    evidence_count: usize,
    manifest_count: usize,
    gap_count: usize,
    evidence: &'r [Kept<facts::evidence::Evidence>],
    manifests: &'r [Kept<facts::manifest::ManifestFact>],
    pairings: &'r [Kept<Pairing>],
    gaps: &'r [store::distribution::KeptGap],
    events: &'r [store::distribution::Event],
}

impl Row for Shown<'_> {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "url",
        "archived",
        "presence",
        "fork",
        "evidence_count",
        "manifest_count",
        "gap_count",
    ];
}

pub(super) async fn show(session: &Session, text: &str) -> Result<Exit> {
    let engine = session.engine().await?;
    let repository = repo::find(engine.db(), text).await?;
    let report = report(engine.db(), repository.id, MOST).await?;
    let report = report.ok_or_else(|| {
        let message = format!("the repository `{text}` has just gone");
        Failure::new(&codes::NOT_FOUND, message)
    })?;
    let sources = source_views(&engine, &report.repository, &report.sources).await?;
    print(session, &report, &sources)?;
    Ok(Exit::Ok)
}

fn print(session: &Session, report: &Report, sources: &[SourceView]) -> Result<()> {
    let printer = &session.printer;
    let metadata = report.metadata.as_ref();
    printer.record(&Shown {
        id: report.repository.id,
        url: &report.repository.url,
        archived: report.repository.archived,
        presence: metadata.map(|known| known.presence.as_str()),
        fork: metadata.and_then(|known| known.fork),
        sources,
        evidence_count: report.evidence.len(),
        manifest_count: report.manifests.len(),
        gap_count: report.gaps.len(),
        evidence: &report.evidence,
        manifests: &report.manifests,
        pairings: &report.pairings,
        gaps: &report.gaps,
        events: &report.events,
    })?;
    // Programs have got everything in one object; people read on.
    if printer.format() != Format::Table {
        return Ok(());
    }
    section(session, "Published", &report.evidence)?;
    section(session, "Manifests", &report.manifests)?;
    section(session, "Pairings", &report.pairings)?;
    section(session, "Gaps", &report.gaps)?;
    section(session, "Events", &report.events)?;
    section(session, "Sources", sources)
}

/// A table with its name above it, if there is anything in it.
pub(in crate::commands) fn section<R: Row>(
    session: &Session,
    title: &str,
    rows: &[R],
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    session.printer.text(&format!("\n{title}\n"))?;
    session.printer.rows(rows)
}

/// Every source of a repository with the unit that asks it.
pub(in crate::commands) async fn source_views(
    engine: &Engine,
    repository: &Repository,
    states: &[SourceState],
) -> Result<Vec<SourceView>> {
    let mut views: Vec<SourceView> = states.iter().map(of_state).collect();
    let mut units: Vec<(String, String)> = match RepositoryUrl::parse(&repository.url) {
        Ok(url) => rounds::units(repository.id, &url)
            .iter()
            .map(|unit| (unit.kind().to_owned(), unit.key().to_owned()))
            .collect(),
        Err(_) => Vec::new(),
    };
    let derived = collect::distribution::pairing::unit(repository.id);
    units.push((derived.kind().to_owned(), derived.key().to_owned()));
    for (kind, key) in units {
        let Some(source) = kind.strip_prefix(ROUND) else {
            continue;
        };
        let address = format!("{kind}:{key}");
        let Some(id) = engine.find(&address).await? else {
            continue;
        };
        let Some(detail) = engine.unit(id).await? else {
            continue;
        };
        let why = engine.why(id).await?.unwrap_or_default();
        let place = views.iter().position(|view| view.source == source);
        let place = place.unwrap_or_else(|| {
            views.push(unasked(source));
            views.len() - 1
        });
        let view = &mut views[place];
        view.unit = Some(address);
        view.state = Some(detail.unit.state);
        view.strikes = Some(detail.unit.strikes);
        view.next_run = detail.unit.due_at;
        view.why = why.first().map(|why| unit::explain(id, why).text);
        view.error = view.error.take().or(detail.unit.error);
    }
    views.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(views)
}

fn of_state(state: &SourceState) -> SourceView {
    SourceView {
        last_asked: Some(state.last_asked),
        last_answered: state.last_answered,
        complete: Some(state.is_current()),
        error: state.error.clone(),
        failures: Some(state.failures),
        ..unasked(&state.source)
    }
}

fn unasked(source: &str) -> SourceView {
    SourceView {
        source: source.to_owned(),
        last_asked: None,
        last_answered: None,
        complete: None,
        error: None,
        failures: None,
        unit: None,
        state: None,
        strikes: None,
        next_run: None,
        why: None,
    }
}
