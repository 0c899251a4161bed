//! What lies in a repository on a forge: its tree, and contents by their id.

use std::collections::HashSet;

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
    /// The commit it belongs to, where listing took so many pages that
    /// [`commit`](super::Forge::commit) is the cheaper question next time.
    pub commit: Option<String>,
    /// What was wanted of it.
    pub files: Vec<Entry>,
    /// Part of it could not be listed, and why.
    pub cut: Option<String>,
}

/// Whether a listing that was asked for as a whole is one: git knows no empty directories, so each
/// that is named must have something in it. An answer that only lists the top (a redirect that
/// lost its question, a server that does not know the word) must not look like a removal.
#[derive(Debug, Default)]
pub(super) struct Wholeness {
    named: HashSet<String>,
    filled: HashSet<String>,
}

/// The id of a directory without anything, which can be made by hand.
const EMPTY_DIRECTORY: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl Wholeness {
    /// One line of the listing.
    pub(super) fn see(&mut self, path: &str, id: &str, is_directory: bool) {
        if is_directory && id != EMPTY_DIRECTORY {
            self.named.insert(path.to_owned());
        }
        if let Some((above, _)) = path.rsplit_once('/')
            && !self.filled.contains(above)
        {
            self.filled.insert(above.to_owned());
        }
    }

    /// Says so if it is none.
    pub(super) fn check(&self) -> Asked<()> {
        match self.named.difference(&self.filled).next() {
            None => Ok(()),
            Some(path) => Err(NoAnswer::Nonsense(format!(
                "the tree is not listed as a whole: nothing is said about `{path:.100}`"
            ))),
        }
    }
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
    facts::hex::lower(digest.finalize()).eq_ignore_ascii_case(id)
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
/// One that was empty is not asked again and again; should it be gone, `repo-metadata` finds out.
pub(super) async fn why_nothing<T>(
    forge: &dyn Forge,
    which: &Which,
    what: &str,
) -> Asked<Looked<T>> {
    if which.was_empty {
        return Ok(Looked::Empty);
    }
    match forge.repository(which).await? {
        Seen::Missing => Ok(Looked::Missing),
        Seen::Blocked => Ok(Looked::Blocked),
        Seen::Here(sight) if sight.empty == Some(true) => Ok(Looked::Empty),
        Seen::Here(_) => Err(NoAnswer::Nonsense(format!(
            "the repository is there, but {what} cannot be found"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_of_the_top_alone_is_not_whole() {
        let mut listing = Wholeness::default();
        listing.see("src", "1", true);
        listing.see("empty", EMPTY_DIRECTORY, true);
        listing.see("a.txt", "2", false);
        assert!(listing.check().is_err());
        listing.see("src/deep/b.txt", "3", false);
        assert!(listing.check().is_err(), "only `src/deep` has something");
        listing.see("src/deep", "4", true);
        assert!(listing.check().is_ok());
    }

    #[test]
    fn contents_are_known_by_their_id() {
        let id = blob_id(b"hello\n");
        assert!(has_id(b"hello\n", &id.to_uppercase()));
        assert!(!has_id(b"hello", &id) && !has_id(b"", "") && !has_id(b"x", "nonsense"));
        // `git hash-object` in a repository of the newer format.
        let newer = "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4";
        assert!(has_id(b"hello\n", newer));
        assert!(decoded("aGVs\nbG8K\n", &id).is_ok());
        assert!(decoded("aGVsbG8=", &id).is_err() && decoded("?", &id).is_err());
    }
}
