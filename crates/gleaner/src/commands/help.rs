//! `gleaner help`: commands, error codes, exit codes, the environment.

use std::fmt::Write as _;

use clap::Args;

use crate::{
    cli,
    config::SECTIONS,
    error::{Exit, Failure, Result, codes},
    session::Session,
};

/// Explain a command, an error code or a topic (exit-codes, errors, environment)
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner help repo add
  gleaner help E-DB-UNREACHABLE
  gleaner help exit-codes")]
pub(crate) struct HelpArgs {
    /// A command, an error code or a topic
    topic: Vec<String>,
}

pub(crate) fn run(session: &Session, args: &HelpArgs) -> Result<Exit> {
    let text = match args.topic.as_slice() {
        [topic] if topic == "exit-codes" => exit_codes(),
        [topic] if topic == "errors" => errors(),
        [topic] if topic == "environment" => environment(),
        [code] if code.to_ascii_uppercase().starts_with("E-") => error_code(code)?,
        path => find_command(path)?.render_long_help().ansi().to_string(),
    };
    session.printer.text(&text)?;
    Ok(Exit::Ok)
}

/// The command at the end of a path of words, ready to render.
pub(super) fn find_command(path: &[String]) -> Result<clap::Command> {
    let mut root = cli::command();
    root.build();
    let mut found = &root;
    for word in path {
        found = found.find_subcommand(word).ok_or_else(|| {
            let message = format!("there is no help on `{}`", path.join(" "));
            Failure::new(&codes::TOPIC, message).hint(
                "topics are exit-codes, errors, environment, every error code and every command",
            )
        })?;
    }
    Ok(found.clone())
}

fn error_code(name: &str) -> Result<String> {
    let code = codes::find(name).ok_or_else(|| {
        Failure::new(&codes::TOPIC, format!("there is no error code `{name}`"))
            .hint("`gleaner help errors` lists them all")
    })?;
    let mut text = format!(
        "{}: {} (exit code {})\n\n",
        code.name, code.title, code.exit as u8
    );
    wrap(&mut text, code.explanation);
    Ok(text)
}

fn exit_codes() -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (exit, meaning) in Exit::ALL {
        let _ = writeln!(text, "{:>5}  {meaning}", exit as u8);
    }
    text
}

fn errors() -> String {
    let mut text = "Error codes; `gleaner help CODE` explains one:\n".to_owned();
    for code in codes::ALL {
        let _ = writeln!(
            text,
            "  {:22}{} ({})",
            code.name, code.title, code.exit as u8
        );
    }
    text
}

fn environment() -> String {
    let mut text = "\
Environment variables; flags win over them, and they win over the file.

  GLEANER_CONFIG  the configuration file, as `--config`
  GLEANER_DATA  the data directory, as `--data`
  GLEANER_TOKEN_GITHUB_COM  tokens for the upstream github.com, separated by commas; others alike
  GLEANER_LOG  what to log, for example `engine=debug`
  GLEANER_CLOCK  `world:http://HOST:PORT` goes by the clock of a `gleaner sim`; for drills only
  GLEANER_NO_PROGRESS  when not empty: neither bars nor heartbeat lines
  NO_COLOR, CLICOLOR_FORCE, TERM=dumb  as everywhere

"
    .to_owned();
    for section in SECTIONS.iter().filter(|section| !section.is_named()) {
        for key in section.keys {
            let _ = writeln!(
                text,
                "  {}  as `{}` under `[{}]`",
                key.variable(section),
                key.name,
                section.name
            );
        }
    }
    text
}

fn wrap(text: &mut String, words: &str) {
    let mut width = 0;
    for word in words.split(' ') {
        let needed = word.chars().count();
        if width > 0 && width + 1 + needed > 80 {
            text.push('\n');
            width = 0;
        }
        if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += needed;
    }
    text.push('\n');
}
