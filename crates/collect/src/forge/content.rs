//! What lies in a repository on a forge: its tree, and contents by their id.

use facts::git_object::blob_id;
use sha2::{Digest as _, Sha256};

use super::{Asked, Forge, NoAnswer, Seen, Which};
use crate::git::Entry;

/// So many directories of a tree are asked for one by one, where a forge does not list all of it
/// at once.
pub(super) const MOST_LISTINGS: usize = 100;

/// So many pages of one list are asked for.
pub(super) const MOST_PAGES: usize = 100;

/// What a question about something of a repository came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked<T> {
    /// This is there.
    Here(T),
    /// The repository has no commit.
    Empty,
    /// The repository is not there, or hidden from us.
    Missing,
    /// The repository was taken down.
    Blocked,
}

impl<T> Looked<T> {
    /// The same about something else.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Looked<U> {
        match self {
            Self::Here(value) => Looked::Here(change(value)),
            Self::Empty => Looked::Empty,
            Self::Missing => Looked::Missing,
            Self::Blocked => Looked::Blocked,
        }
    }
}

/// The files of a repository's default branch, as far as they were wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The id of the whole, where the forge tells.
    pub id: Option<String>,
    /// What was wanted of it.
    pub files: Vec<Entry>,
    /// Part of it could not be listed, and why.
    pub cut: Option<String>,
}

/// A file whose contents are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The id of the contents.
    pub id: &'a str,
    /// How many bytes they have, where the tree told.
    pub size: Option<u64>,
}

/// Whether contents are those that the id names. Whoever hands over something else is not believed,
/// so that one forge cannot put words into the repositories of another.
pub(super) fn has_id(contents: &[u8], id: &str) -> bool {
    if id.len() == 40 {
        return blob_id(contents).eq_ignore_ascii_case(id);
    }
    let mut digest = Sha256::new();
    digest.update(format!("blob {}\0", contents.len()));
    digest.update(contents);
    let found = digest.finalize();
    let hex = found.iter().map(|byte| format!("{byte:02x}"));
    hex.collect::<String>().eq_ignore_ascii_case(id)
}

/// The contents, if they are those that the id names.
pub(super) fn checked(contents: Vec<u8>, id: &str) -> Asked<Vec<u8>> {
    if has_id(&contents, id) {
        return Ok(contents);
    }
    Err(NoAnswer::Nonsense(format!(
        "the contents that came for {id:.64} are not those"
    )))
}

/// Contents as JSON carries them: base64, often broken into lines.
pub(super) fn decoded(text: &str, id: &str) -> Asked<Vec<u8>> {
    use base64::Engine as _;
    let text: String = text.split_ascii_whitespace().collect();
    let contents = base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|_| NoAnswer::Nonsense(format!("the contents of {id:.64} are no base64")))?;
    checked(contents, id)
}

/// Why there is nothing where something of a repository was asked for: the repository itself tells.
pub(super) async fn why_nothing<T>(
    forge: &dyn Forge,
    which: &Which,
    what: &str,
) -> Asked<Looked<T>> {
    match forge.repository(which).await? {
        Seen::Missing => Ok(Looked::Missing),
        Seen::Blocked => Ok(Looked::Blocked),
        Seen::Here(sight) if sight.empty == Some(true) => Ok(Looked::Empty),
        Seen::Here(_) => Err(NoAnswer::Nonsense(format!(
            "the repository is there, but {what} cannot be found"
        ))),
    }
}
