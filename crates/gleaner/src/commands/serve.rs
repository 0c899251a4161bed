//! `gleaner serve`, `work` and `web`: the processes that stay.

mod demo;
mod idle;
mod web;

use clap::Args;
use engine::{Engine, Worker};

use crate::{
    catch_up,
    error::{Exit, Failure, Result},
    followed, rounds,
    session::Session,
    stop::Stop,
};

/// Run workers and the web
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner serve
  gleaner serve --demo --listen 127.0.0.1:8787")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) web: ListenArgs,
    #[command(flatten)]
    pub(crate) work: WorkingArgs,
    /// Work on generated repositories and simulated forges, in a database that is thrown away
    #[arg(long, conflicts_with = "database")]
    pub(crate) demo: bool,
}

/// Run workers without the web
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner work
  gleaner work --until-idle --kinds distribution/manifests")]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) work: WorkingArgs,
}

/// Run the web without workers
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner web
  gleaner web --listen 0.0.0.0:8787")]
pub(crate) struct WebArgs {
    #[command(flatten)]
    pub(crate) web: ListenArgs,
}

/// What the web listens on.
#[derive(Debug, Args)]
pub(crate) struct ListenArgs {
    /// The address to listen on [env: `GLEANER_SERVER_LISTEN`] [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
}

/// What workers take on.
#[derive(Debug, Args)]
pub(crate) struct WorkingArgs {
    /// End when nothing is running and nothing is due now; list what is due later and why
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// Only these kinds, separated by commas
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,
}

pub(crate) async fn serve(session: &Session, args: ServeArgs) -> Result<Exit> {
    let settings = session.settings_with(args.web.listen.as_deref())?;
    let demo = if args.demo {
        Some(demo::Demo::prepare(session).await?)
    } else {
        None
    };
    let engine = match &demo {
        Some(demo) => demo.engine.clone(),
        None => session.engine().await?,
    };
    let worker = match &demo {
        Some(demo) => demo.worker(&args.work.kinds)?,
        None => rounds::worker(engine.clone(), settings, &args.work.kinds)?,
    };
    catch_up(session, &engine).await?;
    let mut web = web::Listening::bind(session, settings.server.listen).await?;
    if demo.is_none() {
        web = web.with_datasets(session)?;
    }
    let stop = Stop::on_signals(session.printer.clone());
    let banner = demo.as_ref().map(demo::Demo::banner);
    let web = web.answer(engine.clone(), banner, stop.gently.clone());
    let ended = work_until_stopped(session, &engine, worker, &args.work, &stop).await;
    stop.gently.cancel();
    web.ended(&stop).await?;
    close(&engine, ended).await
}

pub(crate) async fn work(session: &Session, args: WorkArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let worker = rounds::worker(engine.clone(), session.settings()?, &args.work.kinds)?;
    catch_up(session, &engine).await?;
    let stop = Stop::on_signals(session.printer.clone());
    let ended = work_until_stopped(session, &engine, worker, &args.work, &stop).await;
    close(&engine, ended).await
}

pub(crate) async fn web(session: &Session, args: WebArgs) -> Result<Exit> {
    let settings = session.settings_with(args.web.listen.as_deref())?;
    let engine = session.engine().await?;
    let web = web::Listening::bind(session, settings.server.listen).await?;
    let web = web.with_datasets(session)?;
    let stop = Stop::on_signals(session.printer.clone());
    let ended = web
        .answer(engine.clone(), None, stop.gently.clone())
        .ended(&stop)
        .await;
    close(&engine, ended.map(|()| Exit::Ok)).await
}

/// Repositories may have come while a round was switched off that is on now.
async fn catch_up(session: &Session, engine: &Engine) -> Result<()> {
    let new = followed::follow(engine, session.settings()?).await?;
    if new > 0 {
        let note = format!("owners that the Go index follows from now on: {new}");
        session.printer.note(&note);
    }
    let late = catch_up::catch_up(engine, session.settings()?).await?;
    if late > 0 {
        let note = format!("repositories that begin with a round which was switched off: {late}");
        session.printer.note(&note);
    }
    Ok(())
}

async fn work_until_stopped(
    session: &Session,
    engine: &Engine,
    worker: Worker,
    args: &WorkingArgs,
    stop: &Stop,
) -> Result<Exit> {
    let working = async {
        if args.until_idle {
            let idle = Box::pin(worker.run_until_idle(stop.gently.clone()));
            idle::watch(session, engine, idle).await?;
            if stop.gently.is_cancelled() {
                return Err(Failure::interrupted());
            }
            idle::list_what_is_left(session, engine).await?;
        } else {
            Box::pin(worker.run(stop.gently.clone())).await?;
        }
        Ok(Exit::Ok)
    };
    tokio::select! {
        ended = working => ended,
        () = stop.at_once.cancelled() => Err(Failure::interrupted()),
    }
}

/// Folds the database's log back, so that a copy of the file is whole.
async fn close(engine: &Engine, ended: Result<Exit>) -> Result<Exit> {
    if ended.is_ok() {
        engine.db().close().await;
    }
    ended
}
