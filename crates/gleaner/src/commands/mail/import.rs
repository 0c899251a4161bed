//! `gleaner mail import`: mail from files into the store.
//!
//! Files are cut into mails by a thread of their own, a few batches ahead of the database, so that a
//! file of any size takes the same memory. A mail that is there already is not taken twice: the
//! same file can be imported again.

use std::path::{Path, PathBuf};

use ::db::transact;
use clap::Args;
use collect::mail::{self as round, stage_file_copy};
use engine::{Engine, EnqueueError, UnitId};
use facts::mail::Archive;
use scan::mail::{Hint, mbox};
use serde::Serialize;
use store::mail::{self, KnownPart, NewCopy, NewList};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    archive::{self, Source},
    parse,
};
use crate::{
    error::{Exit, Failure, Result, codes},
    printer::Row,
    rounds,
    session::Session,
};

/// Mails in one transaction, and the bytes of them that are held before.
const AT_ONCE: usize = 500;
const BYTES_AT_ONCE: usize = 8 << 20;

/// Take mail from files: mbox of any kind, maildirs, single mails, each also gzipped
///
/// A file belongs to the list that `--list` names, else to the one that its first mail names, else
/// to one of the file's name.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail import dev.mbox --list dev@example.org
  gleaner mail import archives/ --system lore")]
pub(crate) struct ImportArgs {
    /// Files and directories; `-` is standard input
    #[arg(required = true, value_name = "PATH")]
    files: Vec<PathBuf>,
    /// The address of the list
    #[arg(long, value_name = "ADDRESS")]
    list: Option<String>,
    /// Whose rules hold: apache, lore, generic, or one of your own [default: by the list's address]
    #[arg(long, value_name = "SYSTEM")]
    system: Option<String>,
    /// The repository that the list is about
    #[arg(long, value_name = "REPO")]
    repo: Option<String>,
    /// Leave it to a worker to turn the mail into messages
    #[arg(long)]
    no_wait: bool,
}

#[derive(Serialize)]
struct Imported {
    file: String,
    list: String,
    mails: usize,
    new: usize,
}

impl Row for Imported {
    const COLUMNS: &'static [&'static str] = &["file", "list", "mails", "new"];
}

pub(super) async fn run(session: &Session, args: &ImportArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let mut exit = Exit::Ok;
    let mut sources = Vec::new();
    for path in &args.files {
        if path.is_dir() {
            archive::walk(path, &mut sources, &mut |path, error| {
                session.printer.failure(&Failure::unreadable(path, error));
                exit = Exit::Usage;
            });
        } else {
            let path = path.clone();
            sources.push(Source { path, found: false });
        }
    }
    let repository = match &args.repo {
        Some(text) => Some(crate::commands::repo::find(engine.db(), text).await?.id),
        None => None,
    };
    let mut list = session.printer.list()?;
    let mut touched: Vec<i64> = Vec::new();
    for source in sources {
        match import(session, &engine, args, repository, source).await {
            Ok(Some((id, imported))) => {
                touched.push(id);
                list.push(&imported)?;
            }
            Ok(None) => {}
            // One bad file is told and does not hide the others.
            Err(failure) if failure.code().name.starts_with("E-INPUT-") => {
                session.printer.failure(&failure);
                exit = failure.exit();
            }
            Err(failure) => return Err(failure),
        }
    }
    list.finish()?;
    touched.sort_unstable();
    touched.dedup();
    if !args.no_wait {
        resolve(session, &engine, &touched).await?;
    }
    engine.db().close().await;
    Ok(exit)
}

/// Stages the mail of one file; none if it holds no mail.
async fn import(
    session: &Session,
    engine: &Engine,
    args: &ImportArgs,
    repository: Option<i64>,
    source: Source,
) -> Result<Option<(i64, Imported)>> {
    let file = source.path.to_string_lossy().into_owned();
    let (sender, mut batches) = mpsc::channel::<Step>(2);
    let reading = std::thread::spawn(move || read(&source, &sender));
    let mut place: Option<(i64, String)> = None;
    let (mut mails, mut new) = (0, 0);
    while let Some(step) = batches.recv().await {
        match step {
            Step::List(guess) => {
                let address = args.list.clone().unwrap_or(guess).to_lowercase();
                place = Some((register(engine, args, repository, &address).await?, address));
            }
            Step::Mails(copies) => {
                if let Some((list, _)) = &place {
                    mails += copies.len();
                    new += stage(engine, *list, &copies).await?;
                }
            }
            Step::NoMail => {
                session.printer.note(&format!("`{file}` holds no mail"));
                return Ok(None);
            }
        }
    }
    let read = reading.join().unwrap_or(Ok(()));
    let Some((list, address)) = place else {
        read.map_err(|(path, error)| parse::unreadable(&path, &error))?;
        return Ok(None);
    };
    let part = KnownPart {
        part: file.clone(),
        state: "complete".to_owned(),
        expected: None,
        found: i64::try_from(mails).unwrap_or(i64::MAX),
        tip: None,
        read_at: engine.clock().now(),
        why: None,
    };
    let (part, now) = (&part, engine.clock().now());
    let noted: Result<(), EnqueueError> = transact!(engine.db(), |tx| {
        mail::read_part(tx, list, part).await?;
        mail::finished(tx, list, now).await?;
        engine::enqueue_in(tx, &[round::resolve_unit(list).now()], now).await?;
        Ok(())
    });
    noted?;
    read.map_err(|(path, error)| parse::unreadable(&path, &error))?;
    let imported = Imported {
        file,
        list: address,
        mails,
        new,
    };
    Ok(Some((list, imported)))
}

/// What the reading thread has to say.
enum Step {
    /// The list that the first mail names, or one of the file's name.
    List(String),
    Mails(Vec<NewCopy>),
    NoMail,
}

fn read(source: &Source, sender: &mpsc::Sender<Step>) -> Result<(), (PathBuf, std::io::Error)> {
    let failed = |error: std::io::Error| (source.path.clone(), error);
    let archive = source.open().map_err(failed)?;
    if archive.strange && source.found {
        let _ = sender.blocking_send(Step::NoMail);
        return Ok(());
    }
    let part = source.path.to_string_lossy().into_owned();
    let mut told = false;
    let mut tell = |bytes: &[u8]| {
        if !std::mem::replace(&mut told, true) {
            let parsed = scan::mail::parse(bytes, Hint::default());
            let address = parsed.list_address.or_else(|| {
                // `dev.maven.apache.org` names `dev@maven.apache.org`.
                let id = parsed.list_id?;
                let (name, domain) = id.split_once('.')?;
                domain.contains('.').then(|| format!("{name}@{domain}"))
            });
            let address = address.unwrap_or_else(|| of_file(&source.path));
            let _ = sender.blocking_send(Step::List(address));
        }
    };
    if archive.single {
        let (bytes, _) = parse::whole(archive).map_err(failed)?;
        tell(&bytes);
        let copy = stage_file_copy(&part, &bytes, None);
        let _ = sender.blocking_send(Step::Mails(vec![copy]));
        return Ok(());
    }
    let mut splitter = mbox::split(archive.reader);
    let (mut batch, mut held) = (Vec::new(), 0);
    loop {
        let raw = match splitter.next_message() {
            Ok(Some(raw)) => raw,
            Ok(None) => break,
            Err(error) => {
                // What was whole before the damage is kept.
                let _ = sender.blocking_send(Step::Mails(batch));
                return Err(failed(error));
            }
        };
        tell(&raw.bytes);
        let copy = stage_file_copy(&part, &raw.bytes, raw.envelope.as_ref());
        held += copy.raw.len();
        batch.push(copy);
        if batch.len() >= AT_ONCE || held >= BYTES_AT_ONCE {
            held = 0;
            if sender
                .blocking_send(Step::Mails(std::mem::take(&mut batch)))
                .is_err()
            {
                return Ok(());
            }
        }
    }
    let _ = sender.blocking_send(Step::Mails(batch));
    Ok(())
}

/// A list of the file's name, where no mail tells a better one.
fn of_file(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let name = name.strip_suffix(".mbox").unwrap_or(name);
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-._".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    format!("{plain}@import.invalid")
}

async fn register(
    engine: &Engine,
    args: &ImportArgs,
    repository: Option<i64>,
    address: &str,
) -> Result<i64> {
    let system = args
        .system
        .clone()
        .unwrap_or_else(|| super::register::system_of(address).to_owned());
    if scan::mail::classify::Rules::shipped(&system).is_err() && args.system.is_none() {
        return Err(Failure::new(
            &codes::NAME,
            format!("there is no system `{system}`"),
        ));
    }
    let list = NewList {
        archive: Archive::Import,
        system,
        address: address.to_owned(),
        base: None,
        inbox: None,
        description: None,
        repo_group: None,
        repository,
    };
    let (list, now) = (&list, engine.clock().now());
    let registered: Result<_, ::db::DbError> =
        transact!(engine.db(), |tx| mail::register(tx, list, now).await);
    Ok(registered?.id)
}

async fn stage(engine: &Engine, list: i64, copies: &[NewCopy]) -> Result<usize> {
    let now = engine.clock().now();
    let staged: Result<usize, ::db::DbError> =
        transact!(engine.db(), |tx| mail::stage(tx, list, copies, now).await);
    Ok(staged?)
}

/// Turns what was staged into messages, here and now.
async fn resolve(session: &Session, engine: &Engine, lists: &[i64]) -> Result<()> {
    let mut units = Vec::new();
    for list in lists {
        units.extend(engine.find(&format!("mail/resolve:{list}")).await?);
    }
    if units.is_empty() {
        return Ok(());
    }
    work(session, engine, units).await?;
    // What was written is tied to what is known; what is not known yet is left to a worker.
    engine.enqueue(vec![round::project_unit().now()]).await?;
    let units = engine.find("mail/project:all").await?;
    work(session, engine, units.into_iter().collect()).await
}

async fn work(session: &Session, engine: &Engine, units: Vec<UnitId>) -> Result<()> {
    let worker = rounds::worker(engine.clone(), session.settings()?, &[])?;
    Box::pin(worker.only(units).run_until_idle(CancellationToken::new())).await?;
    Ok(())
}
