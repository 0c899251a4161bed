//! The catalogue of repositories.
//!
//! A repository is known by the key of its address ([`RepositoryUrl::key`]), by the keys it had
//! before ([`rename`]), and by the forge's own number where somebody has learned it. Adding finds
//! it by any of the three, so that neither a difference of case nor a rename makes two.

mod add;
mod change;
mod find;
mod list;

use db::{DbError, Row, Timestamp};
use facts::repository::RepositoryUrl;
use serde::Serialize;

pub use add::{Added, NewRepository, add, add_batch, add_many};
pub use change::{
    Renamed, absorb, mark_gone, remove, rename, rename_by_forge_id, set_archived,
    set_default_branch, set_forge_id,
};
pub use find::{Found, by_forge_id, by_id, by_url, find, former_names};
pub use list::{Filter, Page, list};

/// A repository as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repository {
    /// Ours; never used again after a removal.
    pub id: i64,
    /// `github`, `gitlab`, `gitea`, `bitbucket`, `git` or `local`.
    pub forge: String,
    /// With the port where it is not the usual one; empty for a local repository.
    pub host: String,
    /// Any depth, in the case people write it.
    pub owner: String,
    /// In the case people write it.
    pub name: String,
    /// The canonical address.
    pub url: String,
    /// The forge's own number.
    pub forge_id: Option<String>,
    /// Whether it is a directory on a machine of ours.
    pub local: bool,
    /// Archived repositories are not scanned.
    pub archived: bool,
    /// As the forge last said.
    pub default_branch: Option<String>,
    /// When it was added.
    pub added_at: Timestamp,
    /// When the forge first answered that it is not there.
    pub gone_at: Option<Timestamp>,
}

impl Repository {
    /// What people call it: owner and name; for a local one, its path.
    pub fn slug(&self) -> String {
        match RepositoryUrl::parse(&self.url) {
            Ok(url) => url.slug(),
            Err(_) => format!("{}/{}", self.owner, self.name),
        }
    }
}

/// The columns of [`read`], of a table called `r`.
pub(crate) const COLUMNS: &str = "r.id, r.forge, r.host, r.owner, r.name, r.url, r.forge_id, r.local, \
                       r.archived, r.default_branch, r.added_at, r.gone_at";

pub(crate) fn read(row: &Row) -> Result<Repository, DbError> {
    Ok(Repository {
        id: row.get("id")?,
        forge: row.get("forge")?,
        host: row.get("host")?,
        owner: row.get("owner")?,
        name: row.get("name")?,
        url: row.get("url")?,
        forge_id: row.get("forge_id")?,
        local: row.get("local")?,
        archived: row.get("archived")?,
        default_branch: row.get("default_branch")?,
        added_at: row.get("added_at")?,
        gone_at: row.get("gone_at")?,
    })
}

/// For looking up without a host; no identity.
fn slug_key(url: &RepositoryUrl) -> String {
    url.slug().to_lowercase()
}
