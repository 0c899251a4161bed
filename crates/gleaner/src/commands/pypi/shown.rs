//! `gleaner pypi status`, `show` and `reprocess`.

use ::db::{Timestamp, transact};
use clap::Args;
use engine::{Engine, Enqueue, EnqueueError};
use scan::python::{compare_versions, normalize_name};
use serde::Serialize;
use store::pypi::{self, Extracted, FileRow, Filter, Reason, Status};

use super::crawl::known_address;
use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
    session::Session,
};

/// Show how far the index is, and why files were refused
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi status
  gleaner pypi status --reasons --format json")]
pub(crate) struct StatusArgs {
    /// Why files were refused, and how many
    #[arg(long)]
    reasons: bool,
}

/// Show the files of a project, or of one version of it
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi show requests
  gleaner pypi show requests 2.32.3 --format json")]
pub(crate) struct ShowArgs {
    /// The project, in any spelling
    #[arg(value_name = "NAME")]
    project: String,
    /// One version of it
    #[arg(value_name = "VERSION")]
    version: Option<String>,
    /// Also files that are gone
    #[arg(long)]
    all: bool,
}

/// Read files again, by what is known of them
///
/// What was kept of a file is read first; the index is asked only for what is missing.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner pypi reprocess --where project=requests
  gleaner pypi reprocess --where refusal=damaged --where kind=sdist
  gleaner pypi reprocess --where 'extractor<2'")]
pub(crate) struct ReprocessArgs {
    /// `project=`, `version=`, `filename=`, `kind=`, `extracted=` (ok, refused, not-yet), `refusal=`
    /// or `extractor<`; several must all hold
    #[arg(long = "where", value_name = "CONDITION", required = true)]
    conditions: Vec<String>,
}

#[derive(Serialize)]
struct ShownFile {
    project: String,
    version: String,
    filename: String,
    kind: &'static str,
    upload_time: Option<Timestamp>,
    size: Option<i64>,
    sha256: Option<String>,
    requires_python: Option<String>,
    yanked: Option<String>,
    removed: bool,
    quarantined: bool,
    extracted: String,
    requires_dist: Vec<String>,
    extras: Vec<String>,
    import_names: Vec<String>,
    modules: Vec<String>,
    tags: Vec<String>,
    change_seq: i64,
}

impl Row for ShownFile {
    const COLUMNS: &'static [&'static str] = &[
        "version",
        "filename",
        "kind",
        "size",
        "requires_python",
        "yanked",
        "removed",
        "extracted",
        "requires_dist",
        "import_names",
    ];
}

impl Row for Status {
    const COLUMNS: &'static [&'static str] = &[
        "projects",
        "gone",
        "due",
        "files",
        "removed",
        "yanked",
        "quarantined",
        "extracted",
        "refused",
        "unread",
        "floor",
        "seen",
        "safe",
        "lag",
        "safe_at",
        "followed_by",
        "full_began_at",
        "full_finished_at",
        "full_projects",
        "full_failed",
        "audit_at",
        "audit_drift",
        "last_seq",
    ];
}

impl Row for Reason {
    const COLUMNS: &'static [&'static str] = &["reason", "files", "example"];
}

pub(super) async fn status(session: &Session, engine: &Engine, args: &StatusArgs) -> Result<Exit> {
    if args.reasons {
        let reasons = pypi::reasons(engine.db()).await?;
        session.printer.rows(&reasons)?;
    } else {
        let status = pypi::status(engine.db()).await?;
        session.printer.record(&status)?;
    }
    Ok(Exit::Ok)
}

pub(super) async fn show(session: &Session, engine: &Engine, args: &ShowArgs) -> Result<Exit> {
    let name = normalize_name(&args.project);
    let rows = pypi::file_rows(engine.db(), &name).await?;
    let wanted = |row: &FileRow| {
        let version = args.version.as_ref();
        (args.all || !row.removed) && version.is_none_or(|version| *version == row.version)
    };
    let mut rows: Vec<FileRow> = rows.into_iter().filter(wanted).collect();
    if rows.is_empty() {
        let known = pypi::project(engine.db(), &name).await?;
        let message = match (known, &args.version) {
            (None, _) => format!("the project `{name}` is not known"),
            (Some(_), Some(version)) => format!("`{name}` has no files of version {version}"),
            (Some(_), None) => format!("`{name}` has no files"),
        };
        return Err(Failure::new(&codes::NOT_FOUND, message)
            .hint(format!("`gleaner pypi crawl --project {name}` has it read")));
    }
    rows.sort_by(|a, b| {
        compare_versions(&a.version, &b.version).then_with(|| a.filename.cmp(&b.filename))
    });
    let shown: Vec<ShownFile> = rows.into_iter().map(ShownFile::of).collect();
    session.printer.rows(&shown)?;
    Ok(Exit::Ok)
}

impl ShownFile {
    fn of(row: FileRow) -> Self {
        Self {
            project: row.project,
            version: row.version,
            filename: row.filename,
            kind: row.kind.as_str(),
            upload_time: row.upload_time,
            size: row.size,
            sha256: row.sha256,
            requires_python: row.requires_python,
            yanked: row.yanked,
            removed: row.removed,
            quarantined: row.quarantined,
            extracted: match row.extracted {
                Extracted::Ok => "ok".into(),
                Extracted::NotYet => "not yet".into(),
                Extracted::Refused { code, reason } => format!("{code}: {reason}"),
            },
            requires_dist: row.requires_dist,
            extras: row.extras,
            import_names: row.import_names,
            modules: row.modules,
            tags: row.tags,
            change_seq: row.change_seq,
        }
    }
}

pub(super) async fn reprocess(
    session: &Session,
    engine: &Engine,
    args: &ReprocessArgs,
) -> Result<Exit> {
    const BATCH: usize = 1_000;
    let filter = filter(&args.conditions)?;
    let address = known_address(session, engine).await?;
    let (mut after, mut count) = (0, 0);
    loop {
        let now = engine.clock().now();
        let (filter, address) = (&filter, &address);
        let batch: Result<Vec<i64>, EnqueueError> = transact!(engine.db(), |tx| {
            let files = pypi::forget_extraction(tx, filter, after, BATCH).await?;
            let units: Vec<Enqueue> = files
                .iter()
                .map(|(_, project, name, url)| {
                    collect::pypi::file_unit(address, project, name, url).now()
                })
                .collect();
            engine::enqueue_in(tx, &units, now).await?;
            Ok(files.into_iter().map(|(id, ..)| id).collect())
        });
        let batch = batch?;
        count += batch.len();
        match batch.last() {
            Some(last) => after = *last,
            None => break,
        }
    }
    if count == 0 {
        return Err(Failure::new(&codes::NOT_FOUND, "no file is like that"));
    }
    let note = format!("{count} files will be read again");
    session.printer.note(&note);
    Ok(Exit::Ok)
}

fn filter(conditions: &[String]) -> Result<Filter> {
    let mut filter = Filter::default();
    for condition in conditions {
        let refuse = || {
            let message = format!("`{condition}` is no condition");
            Failure::new(&codes::NAME, message)
                .hint("conditions look like `project=requests`, `refusal=bomb`, `extractor<2`")
        };
        if let Some(version) = condition.strip_prefix("extractor<") {
            let version = version.trim().parse().map_err(|_| refuse())?;
            filter.extractor_below = Some(version);
            continue;
        }
        let (key, value) = condition.split_once('=').ok_or_else(refuse)?;
        let value = value.trim().to_owned();
        let place = match key.trim() {
            "project" => {
                filter.project = Some(normalize_name(&value));
                continue;
            }
            "version" => &mut filter.version,
            "filename" => &mut filter.filename,
            "kind" => &mut filter.kind,
            "extracted" => &mut filter.extracted,
            "refusal" => &mut filter.refusal,
            _ => return Err(refuse()),
        };
        *place = Some(value);
    }
    Ok(filter)
}
