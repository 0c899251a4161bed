//! The one place that writes: data on standard output, everything else on standard error.
//!
//! `--format` decides the shape of data. Without it a terminal gets a table, and a pipe gets JSON
//! lines, because whoever reads a pipe is a program. Notes, warnings, errors, progress and logs go
//! to standard error, where `-q` silences notes and progress. Colours follow roles and are never
//! the only carrier of a meaning; `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are respected.

mod progress;
mod rows;
mod text;

use std::io::{self, IsTerminal as _, Write as _};

use indicatif::MultiProgress;

pub(crate) use progress::{Gauge, Progress};
pub(crate) use rows::{List, Row};
pub(crate) use text::visible;

use crate::error::{Failure, Result};

/// Styles by what they mean.
pub(crate) mod role {
    use anstyle::{AnsiColor, Style};

    pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
    pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
    pub(crate) const COMMAND: Style = AnsiColor::Green.on_default();
}

/// The shape of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Columns for people
    Table,
    /// One array
    Json,
    /// One object per line
    Jsonl,
    /// Comma separated, with a header
    Csv,
}

/// Decides what is written where.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    format: Format,
    quiet: bool,
    progress: progress::Mode,
    /// Bars and log lines share standard error; this one keeps them apart.
    bars: MultiProgress,
}

impl Printer {
    pub(crate) fn new(format: Option<Format>, quiet: bool) -> Self {
        let default = if io::stdout().is_terminal() {
            Format::Table
        } else {
            Format::Jsonl
        };
        Self {
            format: format.unwrap_or(default),
            quiet,
            progress: progress::Mode::choose(quiet, io::stderr().is_terminal()),
            bars: MultiProgress::new(),
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Begins a list of data; rows are written as they come, except in tables.
    pub(crate) fn list<R: Row>(&self) -> Result<List<R>> {
        let out = Box::new(io::BufWriter::new(io::stdout().lock()));
        List::begin(self.format, out)
    }

    /// A whole list of data.
    pub(crate) fn rows<R: Row>(&self, rows: &[R]) -> Result<()> {
        let mut list = self.list()?;
        for row in rows {
            list.push(row)?;
        }
        list.finish()
    }

    /// One thing: a name and a value per line for people, a bare object for programs.
    pub(crate) fn record<R: Row>(&self, row: &R) -> Result<()> {
        rows::record(self.format, row, &mut io::stdout().lock())
    }

    /// Text that is itself the data: help, an example file, a completion script.
    #[expect(
        clippy::unused_self,
        reason = "writing is the printer's, whoever it is"
    )]
    pub(crate) fn text(&self, text: &str) -> Result<()> {
        let mut out = anstream::stdout().lock();
        write!(out, "{text}")
            .and_then(|()| out.flush())
            .map_err(|error| Failure::output(&error))
    }

    /// Something that is good to know. `-q` silences it.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.stderr(&format!("{}\n", visible(text)));
        }
    }

    /// Something that should be changed, though the command goes on.
    pub(crate) fn warning(&self, text: &str) {
        let warning = role::WARNING;
        self.stderr(&format!("{warning}warning{warning:#}: {}\n", visible(text)));
    }

    /// Why the command failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        self.stderr(&failure.render());
    }

    /// A view of work that goes on: bars on a terminal, a line now and then elsewhere.
    pub(crate) fn progress(&self) -> Progress {
        Progress::new(self.progress, self.clone())
    }

    /// Writes to standard error without tearing bars.
    pub(crate) fn stderr(&self, text: &str) {
        // Nothing can be done about a standard error that cannot be written.
        self.bars.suspend(|| {
            let _ = write!(anstream::stderr().lock(), "{text}");
        });
    }
}
