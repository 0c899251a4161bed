//! Asking repositories elsewhere: their refs, their commits and trees, their blobs by id.
//!
//! ```text
//! refs ──► fetch (commits and trees, depth 1, no blobs) ──► complete (missing blobs, one batch)
//!              │                                               │
//!              └────────────► Fetched::local() ◄───────────────┘   listing and reading, no network
//! ```
//!
//! Measured against the server double with a repository of 2,000 files in 40 directories (2.8 MB of
//! hexadecimal text), requests and bytes of answers: refs 2 and 0.4 kB; without blobs 2 by id (3 by
//! name) and 52 kB; 50 blobs by id 2 and 41 kB; the other 1,950 2 and 1.57 MB, for 48 kB sent;
//! everything at depth 1 2 and 1.67 MB.
//!
//! Answers are three-valued: [`RemoteError::is_absent`] is knowledge, every other error is not, and
//! `Answer::from` says so in the words of the collectors. A page with status 200, a pack that was
//! cut, refs without their objects, a 401 of somebody unknown: all of that is "unknown". A
//! repository without refs is an answer ([`Refs::is_empty`]).
//!
//! Servers need not support everything. What was asked for and could not be had that way is had
//! another way, and [`Fetched::fallbacks`] and [`Completed::fallback`] say so.

mod address;
mod cache;
mod classify;
mod complete;
mod config;
mod ending;
mod error;
mod fetch;
mod packet;
mod refs;
mod run;
mod settings;
mod trace;

use std::sync::Arc;

use address::Place;
use cache::Cache;

pub use complete::Completed;
pub use ending::{account, ask};
pub use error::{Refused, RemoteError, Retry};
pub use fetch::{Contents, Fetched, Want};
pub use refs::{Ref, Refs, RemoteHead, USUAL_REFS};
pub use settings::{Protocol, RemoteLimits, Settings, Token};

use super::{GitError, Limits, command::Git};

/// The oldest git that can be told which addresses to connect to.
const OLDEST: (u32, u32) = (2, 37);

/// The door to all repositories elsewhere. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Remotes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    cache: Cache,
}

/// One repository elsewhere.
#[derive(Clone, Debug)]
pub struct Remote {
    remotes: Remotes,
    place: Place,
}

impl Remotes {
    /// Checks git, makes the directory of objects and clears what dead processes left in it.
    pub async fn open(settings: Settings) -> Result<Self, RemoteError> {
        let cache = Cache::open(&settings.directory)?;
        let version = Git::new(&settings.directory, "version", Limits::default().time)
            .tell()
            .await?;
        let mut numbers = version
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse::<u32>().ok());
        if let (Some(major), Some(minor)) = (numbers.next(), numbers.next())
            && (major, minor) < OLDEST
        {
            return Err(RemoteError::Git(GitError::Failed {
                command: "version",
                message: format!("{version} is too old, {}.{} is needed", OLDEST.0, OLDEST.1),
            }));
        }
        Ok(Self(Arc::new(Inner { settings, cache })))
    }

    /// A repository by its URL, which must not hold secrets. Asks nobody.
    pub fn remote(&self, url: &str) -> Result<Remote, RemoteError> {
        Ok(Remote {
            remotes: self.clone(),
            place: Place::new(url, self.settings())?,
        })
    }

    fn settings(&self) -> &Settings {
        &self.0.settings
    }

    fn cache(&self) -> &Cache {
        &self.0.cache
    }
}

impl Remote {
    /// Its URL.
    pub fn url(&self) -> &str {
        self.place.as_str()
    }

    /// Where a repository that moved is now, if it may be followed there. Tokens do not come along
    /// unless there is one for that host.
    fn follow(&self, from: &Place, moved: RemoteError, moves: u8) -> Result<Place, RemoteError> {
        let settings = self.remotes.settings();
        let RemoteError::Moved { url, to, .. } = moved else {
            return Err(moved);
        };
        let refused = |why: String| RemoteError::Moved {
            url: url.clone(),
            to: classify::one_line(&to),
            why,
        };
        if moves >= settings.limits.moves {
            return Err(refused("it moved too often".to_owned()));
        }
        let full = from
            .url
            .join(&to)
            .map_err(|_| refused("it is no URL".to_owned()))?;
        // Only what stands for the same question elsewhere is the same repository.
        let Some(base) = full
            .as_str()
            .strip_suffix("/info/refs?service=git-upload-pack")
        else {
            return Err(refused("it is a page".to_owned()));
        };
        let place = Place::new(base, settings).map_err(|error| refused(reason(&error)))?;
        if !place.protocol.is_http()
            || (from.protocol == Protocol::Https && place.protocol != Protocol::Https)
        {
            return Err(refused("it is less safe".to_owned()));
        }
        Ok(place)
    }
}

fn reason(error: &RemoteError) -> String {
    match error {
        RemoteError::BadUrl { why, .. } => (*why).to_owned(),
        other => other.to_string(),
    }
}
