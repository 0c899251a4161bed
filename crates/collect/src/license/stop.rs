//! What keeps a run from its end.

use engine::RunError;

use crate::git::remote::RemoteError;

/// Why a run does not come to its end.
pub(super) enum Stop {
    Run(RunError),
    Git(RemoteError),
    Broken(super::Broken),
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<db::DbError> for Stop {
    fn from(error: db::DbError) -> Self {
        Self::Run(error.into())
    }
}

impl From<RemoteError> for Stop {
    fn from(error: RemoteError) -> Self {
        Self::Git(error)
    }
}

impl From<super::Broken> for Stop {
    fn from(broken: super::Broken) -> Self {
        Self::Broken(broken)
    }
}
