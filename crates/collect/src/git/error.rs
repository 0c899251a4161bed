//! What can go wrong with a repository.

use std::{io, path::PathBuf, time::Duration};

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// Install git.
    #[error("the `git` program cannot be started")]
    NoGit(#[source] io::Error),
    /// The path leads nowhere.
    #[error("there is nothing at {}", .0.display())]
    NotThere(PathBuf),
    /// The path leads to something else.
    #[error("{} is not a git repository", .0.display())]
    NotARepository(PathBuf),
    /// Took longer than allowed; try again later.
    #[error("`git {command}` took longer than {limit:?}")]
    TimedOut {
        /// The subcommand.
        command: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// More came than is taken.
    #[error("`git {command}` gave more than {limit} bytes")]
    TooMuch {
        /// The subcommand.
        command: &'static str,
        /// The limit.
        limit: usize,
    },
    /// Git refused; the repository may be damaged.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The subcommand.
        command: &'static str,
        /// The first line of what it complained about.
        message: String,
    },
    /// Git said something that could not be understood.
    #[error("`git {command}` gave an answer that makes no sense")]
    Garbled {
        /// The subcommand.
        command: &'static str,
    },
    /// Reading from or writing to git failed.
    #[error("cannot talk to `git {command}`")]
    Pipe {
        /// The subcommand.
        command: &'static str,
        /// What happened.
        #[source]
        source: io::Error,
    },
}

impl GitError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoGit(_) => Some("install git, or put it on the PATH"),
            Self::NotThere(_) | Self::NotARepository(_) => {
                Some("give the top directory of a repository, or a bare repository")
            }
            _ => None,
        }
    }
}
