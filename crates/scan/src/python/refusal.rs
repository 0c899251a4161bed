//! Why a file is not read, and how much of one is.

use super::SourceError;

/// What reading a distribution can fail with.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file itself is at fault; asking again gives the same answer.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The bytes could not be had; the file is as unknown as before.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0:?} is not the name of a wheel, an egg or a source distribution")]
    UnknownKind(String),
    #[error("installers of kind {0} are listed, not read")]
    Installer(&'static str),
    #[error("the file holds {found}, not {expected}")]
    WrongContent {
        expected: &'static str,
        found: &'static str,
    },
    #[error("the archive is cut off")]
    Truncated,
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    #[error("the archive has more than {0} members")]
    TooManyMembers(usize),
    #[error("the archive's list of members takes more than {0} bytes")]
    DirectoryTooLarge(u64),
    #[error("a member's name is longer than {0} bytes")]
    NameTooLong(usize),
    #[error("the member {0:?} would be unpacked outside of its directory")]
    PathEscape(String),
    #[error("the member {name:?} is larger than {limit} bytes")]
    MemberTooLarge { name: String, limit: u64 },
    #[error("the archive unpacks to more than {0} bytes")]
    Bomb(u64),
    #[error("the member {0:?} is encrypted")]
    Encrypted(String),
    #[error("the member {name:?} is compressed by method {method}, which is not read")]
    Compression { name: String, method: u16 },
    #[error("there is no metadata in the archive")]
    NoMetadata,
}

impl Refusal {
    /// A stable word for storage and counts.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::UnknownKind(_) => "unknown-kind",
            Refusal::Installer(_) => "installer",
            Refusal::WrongContent { .. } => "wrong-content",
            Refusal::Truncated => "truncated",
            Refusal::Damaged(_) => "damaged",
            Refusal::TooManyMembers(_) => "too-many-members",
            Refusal::DirectoryTooLarge(_) => "directory-too-large",
            Refusal::NameTooLong(_) => "name-too-long",
            Refusal::PathEscape(_) => "path-escape",
            Refusal::MemberTooLarge { .. } => "member-too-large",
            Refusal::Bomb(_) => "bomb",
            Refusal::Encrypted(_) => "encrypted",
            Refusal::Compression { .. } => "compression",
            Refusal::NoMetadata => "no-metadata",
        }
    }
}

/// How much of a stranger's archive is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Members of one archive.
    pub members: usize,
    /// Bytes of a zip's central directory, or of all names in a tar.
    pub directory: u64,
    /// Bytes of one member's name.
    pub name: usize,
    /// Bytes of one member that is read, unpacked.
    pub member: u64,
    /// Bytes of a whole tar, unpacked.
    pub unpacked: u64,
    /// How many times larger than the file a tar may get, once it is past
    /// `ratio_from` bytes: small archives may be as repetitive as they like.
    pub ratio: u64,
    pub ratio_from: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            members: 400_000,
            directory: 64 << 20,
            name: 2_048,
            member: 16 << 20,
            unpacked: 4 << 30,
            ratio: 200,
            ratio_from: 64 << 20,
        }
    }
}
