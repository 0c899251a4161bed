//! What a command fails with: a code, a message, its causes, and hints that are rendered last.
//!
//! The message is this layer's only; what lies below follows as `caused by`. The code is stable: it
//! is explained by `gleaner help CODE` and is the problem type of the web's answers. The exit code
//! belongs to the error code, so that a script can tell a wrong flag from a database that is down.

pub(crate) mod codes;
mod database;

use std::{error::Error, fmt::Write as _, io, path::Path};

pub(crate) use codes::{Code, Exit};
pub(crate) use database::at_database;

use crate::printer::{role, visible};

/// The result of everything that a command does.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error as the user sees it.
#[derive(Debug)]
pub(crate) struct Failure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: &'static Code,
    message: String,
    /// Replaces the headline: source lines with carets, already styled.
    picture: Option<String>,
    causes: Vec<String>,
    hints: Vec<String>,
    quiet: bool,
}

impl Failure {
    pub(crate) fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            picture: None,
            causes: Vec::new(),
            hints: Vec::new(),
            quiet: false,
        }))
    }

    /// Adds an error and everything below it.
    pub(crate) fn caused_by(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            // Some libraries repeat their source in their own message.
            let said = self
                .0
                .causes
                .last()
                .map_or(self.0.message.as_str(), String::as_str);
            if !said.contains(&text) {
                self.0.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// Adds a way out. Hints are shown once each, after everything else.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if !self.0.hints.contains(&hint) {
            self.0.hints.push(hint);
        }
        self
    }

    /// The same failure, now that more is known about it.
    pub(crate) fn recode(mut self, code: &'static Code) -> Self {
        self.0.code = code;
        self.0.hints.clear();
        self
    }

    /// Shows this instead of the headline.
    pub(crate) fn picture(mut self, picture: String) -> Self {
        self.0.picture = Some(picture);
        self
    }

    pub(crate) fn code(&self) -> &'static Code {
        self.0.code
    }

    pub(crate) fn exit(&self) -> Exit {
        self.0.code.exit
    }

    /// The message alone, for a place that has its own frame.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The first hint, for a place that has room for one.
    pub(crate) fn first_hint(&self) -> Option<&str> {
        self.0.hints.first().map(String::as_str)
    }

    /// Ctrl-C while a short command ran.
    pub(crate) fn interrupted() -> Self {
        Self::new(&codes::INTERRUPTED, "interrupted")
    }

    /// Standard output cannot be written. A reader that has seen enough (`| head`) is no failure.
    pub(crate) fn output(error: &io::Error) -> Self {
        let mut failure = Self::new(&codes::OUTPUT, "cannot write the output").caused_by(error);
        failure.0.quiet = error.kind() == io::ErrorKind::BrokenPipe;
        failure
    }

    /// Whether this is a closed pipe, which ends the command as a success.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.0.quiet
    }

    /// A file or directory that the user named cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        let message = format!("cannot read `{}`", path.display());
        Self::new(&codes::FILE, message).caused_by(error)
    }

    /// The whole text, styled; the stream that prints it strips styles where they are not wanted.
    pub(crate) fn render(&self) -> String {
        let Inner {
            code,
            message,
            picture,
            causes,
            hints,
            quiet: _,
        } = &*self.0;
        let (error, hint) = (role::ERROR, role::HINT);
        let mut text = match picture {
            Some(picture) => format!("{}\n", picture.trim_end()),
            None => format!(
                "{error}error[{}]{error:#}: {}\n",
                code.name,
                visible(message)
            ),
        };
        for cause in causes {
            let _ = writeln!(text, "  {error}caused by{error:#}: {}", visible(cause));
        }
        text.push('\n');
        for line in hints {
            let _ = writeln!(text, "{hint}hint{hint:#}: {}", visible(line));
        }
        let command = role::COMMAND;
        let _ = writeln!(
            text,
            "{hint}hint{hint:#}: {command}gleaner help {}{command:#} explains this error",
            code.name
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_not_repeated_and_hints_come_last() {
        let inner = io::Error::other("the disk \u{1b}[31mhums");
        let failure = Failure::new(&codes::FILE, "cannot read `a`")
            .hint("look at the disk")
            .caused_by(&inner)
            .hint("look at the disk");
        let text = anstream::adapter::strip_str(&failure.render()).to_string();
        assert_eq!(
            text,
            "error[E-INPUT-FILE]: cannot read `a`\n  \
             caused by: the disk \\u{1b}[31mhums\n\n\
             hint: look at the disk\n\
             hint: gleaner help E-INPUT-FILE explains this error\n"
        );
    }
}
