//! `gleaner config`: check, show, example.

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::{
    config::{self, Config, SECTIONS, Value},
    error::{Exit, Result},
    printer::Row,
    session::Session,
};

/// Check, show and explain the configuration
#[derive(Debug, Subcommand)]
#[command(before_help = "Examples:
  gleaner config check
  gleaner config show --origin")]
pub(crate) enum ConfigCommand {
    Check(CheckArgs),
    Show(ShowArgs),
    Example(ExampleArgs),
}

/// Read the configuration and complain about what is wrong
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner config check
  gleaner config check --config /etc/gleaner/gleaner.toml")]
pub(crate) struct CheckArgs {}

/// Show the settings that hold
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner config show
  gleaner config show --origin --format json")]
pub(crate) struct ShowArgs {
    /// Also show where each value comes from
    #[arg(long)]
    origin: bool,
}

/// Print a complete configuration file with every default
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner config example
  gleaner config example > gleaner.toml")]
pub(crate) struct ExampleArgs {}

#[derive(Serialize)]
struct Setting {
    key: String,
    value: Option<Value>,
}

impl Row for Setting {
    const COLUMNS: &'static [&'static str] = &["key", "value"];
}

#[derive(Serialize)]
struct OriginatedSetting {
    #[serde(flatten)]
    setting: Setting,
    origin: String,
}

impl Row for OriginatedSetting {
    const COLUMNS: &'static [&'static str] = &["key", "value", "origin"];
}

pub(crate) fn run(session: &Session, command: &ConfigCommand) -> Result<Exit> {
    match command {
        ConfigCommand::Check(_) => check(session)?,
        ConfigCommand::Show(args) => show(session, args)?,
        ConfigCommand::Example(_) => session.printer.text(&config::example())?,
    }
    Ok(Exit::Ok)
}

fn check(session: &Session) -> Result<()> {
    let config = session.config(None)?;
    for (variable, _) in config::environment() {
        if !is_known(&variable) {
            let message = format!("{variable} is set, but gleaner has no such variable");
            session.printer.warning(&message);
        }
    }
    session.printer.note(&match &config.file {
        Some(path) => format!("{} is fine", path.display()),
        None => "there is no configuration file, the defaults hold".to_owned(),
    });
    Ok(())
}

fn show(session: &Session, args: &ShowArgs) -> Result<()> {
    let rows = rows(session.config(None)?);
    if args.origin {
        session.printer.rows(&rows)
    } else {
        let rows: Vec<Setting> = rows.into_iter().map(|row| row.setting).collect();
        session.printer.rows(&rows)
    }
}

fn rows(config: &Config) -> Vec<OriginatedSetting> {
    let entries = config.entries.iter().map(|entry| OriginatedSetting {
        setting: Setting {
            key: entry.address.to_string(),
            value: entry.value.as_ref().map(Value::redacted),
        },
        origin: entry.origin.to_string(),
    });
    // Tokens are listed so that one can see that they arrived, and never shown.
    let tokens = config::environment()
        .into_iter()
        .filter(|(name, _)| is_token(name));
    let tokens = tokens.map(|(variable, _)| OriginatedSetting {
        setting: Setting {
            key: variable.clone(),
            value: Some(Value::Database("(redacted)".to_owned())),
        },
        origin: format!("environment {variable}"),
    });
    entries.chain(tokens).collect()
}

fn is_token(variable: &str) -> bool {
    variable.starts_with("GLEANER_TOKEN_")
}

fn is_known(variable: &str) -> bool {
    let others = [
        "GLEANER_CLOCK",
        "GLEANER_CONFIG",
        "GLEANER_CONTACT",
        "GLEANER_DATA",
        "GLEANER_LOG",
        "GLEANER_NO_PROGRESS",
    ];
    let mut keys = SECTIONS
        .iter()
        .filter(|section| !section.is_named())
        .flat_map(|section| section.keys.iter().map(|key| key.variable(section)));
    others.contains(&variable)
        || is_token(variable)
        || variable.starts_with("GLEANER_TEST_")
        || keys.any(|known| known == variable)
}
