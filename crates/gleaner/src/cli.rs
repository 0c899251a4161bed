//! The command line: what can be typed. What it means is in [`commands`](crate::commands), one
//! file for each noun.
//!
//! Every command's help leads with two examples (`before_help`), and a test parses each of them.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::{commands, printer::Format};

/// Keeps a living record of open-source projects.
#[derive(Debug, Parser)]
#[command(
    name = "gleaner",
    version,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    before_help = "Examples:
  gleaner serve
  gleaner repo add https://github.com/owner/name",
    after_help = "`gleaner help exit-codes`, `gleaner help errors` and `gleaner help environment` tell more."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct GlobalArgs {
    /// The configuration file [env: `GLEANER_CONFIG`]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where data lives [env: `GLEANER_DATA`]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// `sqlite:PATH` or `postgres://…` [env: `GLEANER_DATABASE`]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// The shape of data [default: table on a terminal, jsonl elsewhere]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Say more; twice for still more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Say nothing but data, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

/// The first word.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(commands::serve::ServeArgs),
    Work(commands::serve::WorkArgs),
    Web(commands::serve::WebArgs),
    #[command(subcommand)]
    Repo(commands::repo::RepoCommand),
    #[command(subcommand)]
    Group(commands::group::GroupCommand),
    #[command(subcommand)]
    Unit(commands::unit::UnitCommand),
    #[command(subcommand)]
    Pool(commands::pool::PoolCommand),
    #[command(subcommand)]
    Upstream(commands::upstream::UpstreamCommand),
    #[command(subcommand)]
    Worker(commands::worker::WorkerCommand),
    Distribution(commands::distribution::DistributionArgs),
    #[command(subcommand)]
    Go(commands::go::GoCommand),
    Inspect(commands::inspect::InspectArgs),
    #[command(subcommand)]
    License(commands::license::LicenseCommand),
    Manifest(commands::manifest::ManifestArgs),
    #[command(subcommand)]
    Mail(commands::mail::MailCommand),
    #[command(subcommand)]
    Pypi(commands::pypi::PypiCommand),
    #[command(subcommand)]
    Drill(commands::drill::DrillCommand),
    #[command(subcommand)]
    Db(commands::db::DbCommand),
    #[command(subcommand)]
    Config(commands::config::ConfigCommand),
    Doctor(commands::doctor::DoctorArgs),
    Sim(commands::sim::SimArgs),
    Health(commands::health::HealthArgs),
    Completions(commands::completions::CompletionsArgs),
    #[command(hide = true)]
    Man(commands::completions::ManArgs),
    Help(commands::help::HelpArgs),
}

impl Cli {
    /// Reads the command line of this process.
    pub(crate) fn parse_command_line() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&command().try_get_matches()?)
    }
}

/// The whole tree, with examples above the usage in every help.
pub(crate) fn command() -> clap::Command {
    examples_first(Cli::command())
}

fn examples_first(command: clap::Command) -> clap::Command {
    let command = command.help_template(
        "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}",
    );
    command.mut_subcommands(examples_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_help_leads_with_two_examples_that_parse() {
        fn check(command: &clap::Command, path: &mut Vec<String>) {
            path.push(command.get_name().to_owned());
            let help = command.get_before_help().map(ToString::to_string);
            let help = help.unwrap_or_else(|| panic!("{path:?} has no examples"));
            let mut lines = help.lines();
            assert_eq!(lines.next(), Some("Examples:"), "{path:?}");
            let examples: Vec<&str> = lines.collect();
            assert!(examples.len() >= 2, "{path:?}");
            for example in examples {
                let words = example
                    .trim()
                    .split(' ')
                    .map(|word| word.trim_matches('\''));
                let words: Vec<&str> = words.take_while(|word| *word != ">").collect();
                assert!(
                    example.trim().starts_with(&path.join(" ")),
                    "{example} is not about {path:?}"
                );
                if let Err(error) = super::command().try_get_matches_from(&words) {
                    panic!("{example}: {error}");
                }
            }
            for inner in command.get_subcommands() {
                check(inner, path);
            }
            path.pop();
        }

        check(&command(), &mut Vec::new());
    }
}
