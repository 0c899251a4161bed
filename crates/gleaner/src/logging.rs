//! Logs: to standard error, for people on a terminal and as JSON elsewhere.

use std::io::{self, IsTerminal as _, Write};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::printer::Printer;

/// Starts logging. `GLEANER_LOG` (for example `engine=debug`) wins over `-v` and `-q`.
pub(crate) fn start(printer: &Printer, verbose: u8, quiet: bool, long_running: bool) {
    let level = match (quiet, verbose) {
        (true, _) => "error",
        // A server that says nothing is a puzzle; a short command that logs is a nuisance.
        (false, 0) if long_running => "info,sqlx=warn",
        (false, 0) => "warn,sqlx=error",
        (false, 1) => "info",
        (false, 2) => "debug,sqlx=info",
        (false, _) => "trace",
    };
    let filter = EnvFilter::try_from_env("GLEANER_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(BesideBars(printer.clone()));
    // A second subscriber in one process is a mistake of a test, not of the user.
    let _ = if io::stderr().is_terminal() {
        let colours = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
        builder.with_ansi(colours).with_target(false).try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
}

/// Writes log lines through the printer, so that they do not tear progress bars.
#[derive(Clone)]
struct BesideBars(Printer);

impl<'a> MakeWriter<'a> for BesideBars {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(&self.0, Vec::new())
    }
}

/// One log line; printed when it is complete.
struct Line<'a>(&'a Printer, Vec<u8>);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.0.stderr(&String::from_utf8_lossy(&self.1));
    }
}
