//! The binary: reads the command line, runs one command, ends with a documented exit code.

mod catch_up;
mod cli;
mod clock;
mod commands;
mod config;
mod data_directory;
mod error;
mod followed;
mod logging;
mod objects;
mod outside;
mod printer;
mod rounds;
mod session;
mod stop;

use std::process::ExitCode;

use cli::{Cli, Command};
use error::{Exit, Failure, Result};
use session::Session;

fn main() -> ExitCode {
    let cli = match Cli::parse_command_line() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are data and end well; the rest is a usage error. Neither can do
            // anything about a stream that is closed.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            }
            .into();
        }
    };
    let session = Session::new(cli.global);
    let long_running = matches!(
        cli.command,
        Command::Serve(_) | Command::Work(_) | Command::Web(_)
    );
    session.start_logging(long_running);
    let exit = match run(&session, cli.command) {
        Ok(exit) => exit,
        Err(failure) if failure.is_closed_pipe() => Exit::Ok,
        Err(failure) => {
            let failure = session.look_closer(failure);
            session.printer.failure(&failure);
            failure.exit()
        }
    };
    exit.into()
}

/// One arm per command. Those that touch the database get a runtime, and an end at Ctrl-C.
fn run(session: &Session, command: Command) -> Result<Exit> {
    match command {
        Command::Serve(args) => block_on(commands::serve::serve(session, args)),
        Command::Work(args) => block_on(commands::serve::work(session, args)),
        Command::Web(args) => block_on(commands::serve::web(session, args)),
        Command::Repo(command) => until_interrupted(commands::repo::run(session, command)),
        Command::Group(command) => until_interrupted(commands::group::run(session, command)),
        Command::Unit(command) => until_interrupted(commands::unit::run(session, command)),
        Command::Pool(command) => until_interrupted(commands::pool::run(session, command)),
        Command::Upstream(command) => until_interrupted(commands::upstream::run(session, command)),
        Command::Worker(command) => until_interrupted(commands::worker::run(session, command)),
        Command::Distribution(args) => {
            until_interrupted(commands::distribution::run(session, args))
        }
        Command::Go(command) => until_interrupted(commands::go::run(session, command)),
        Command::Inspect(args) => until_interrupted(commands::inspect::run(session, args)),
        Command::License(command) => until_interrupted(commands::license::run(session, command)),
        Command::Drill(command) => until_interrupted(commands::drill::run(session, command)),
        Command::Db(command) => until_interrupted(commands::db::run(session, command)),
        Command::Doctor(args) => until_interrupted(commands::doctor::run(session, args)),
        Command::Sim(args) => block_on(commands::sim::run(session, args)),
        Command::Manifest(args) => commands::manifest::run(session, &args),
        Command::Mail(command) => commands::mail::run(session, command),
        Command::Pypi(command) => until_interrupted(commands::pypi::run(session, command)),
        Command::Config(command) => commands::config::run(session, &command),
        Command::Health(args) => commands::health::run(session, &args),
        Command::Completions(args) => commands::completions::completions(session, &args),
        Command::Man(args) => commands::completions::man(session, &args),
        Command::Help(args) => commands::help::run(session, &args),
    }
}

/// For commands that deal with Ctrl-C themselves.
fn block_on<F: Future<Output = Result<Exit>>>(work: F) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::new(&error::codes::FULL, "the system gives us no threads").caused_by(&error)
    })?;
    let result = runtime.block_on(work);
    // Whoever leaves at once does not wait for what still runs.
    runtime.shutdown_background();
    result
}

/// For short commands: what was not committed is rolled back, and the exit code says so.
fn until_interrupted<F: Future<Output = Result<Exit>>>(work: F) -> Result<Exit> {
    block_on(async {
        tokio::select! {
            result = work => result,
            Ok(()) = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
        }
    })
}
