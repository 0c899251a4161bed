//! What an owner has in the registry of a forge, asked for once and kept for all of the owner's
//! repositories.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use db::Timestamp;
use engine::{Run, RunError};
use store::owner_packages;

use crate::forge::{Asked, Forge, OwnerPackages};

/// How long a listing serves: about as long as a round over a large owner's repositories takes.
const SERVES_FOR: Duration = Duration::from_hours(24);
/// A listing that nobody renewed for so long goes.
const FORGOTTEN_AFTER: Duration = Duration::from_hours(30 * 24);
/// A longer listing is not kept: it would be read as a whole for each of its repositories.
const LONGEST: usize = 8 << 20;

/// Held by whoever is asking for an owner.
type Turn = Arc<tokio::sync::Mutex<()>>;

/// The owners that this process is asking for, so that runs about two repositories of one owner do
/// not ask side by side.
#[derive(Clone, Debug, Default)]
pub(super) struct Listings {
    asking: Arc<Mutex<HashMap<(String, String), Turn>>>,
}

impl Listings {
    /// The packages of an owner, and whether somebody else had asked for them.
    pub(super) async fn of(
        &self,
        cx: &Run,
        forge: &dyn Forge,
        host: &str,
        owner: &str,
        of_person: Option<bool>,
        now: Timestamp,
    ) -> Result<Asked<(OwnerPackages, bool)>, RunError> {
        let turn = self.turn(host, owner);
        let _alone = turn.lock().await;
        if let Some((asked_at, listing)) = owner_packages::take_up(cx.db(), host, owner).await?
            && now.since(asked_at) < SERVES_FOR
            && let Ok(listing) = serde_json::from_str(&listing)
        {
            return Ok(Ok((listing, true)));
        }
        let listing = match forge.owner_packages(owner, of_person).await {
            Ok(listing) => listing,
            Err(why) => return Ok(Err(why)),
        };
        let text = serde_json::to_string(&listing).map_err(RunError::unit)?;
        if text.len() <= LONGEST {
            let forget = now.minus(FORGOTTEN_AFTER);
            owner_packages::keep(cx.db(), host, owner, &text, now, forget).await?;
        }
        Ok(Ok((listing, false)))
    }

    fn turn(&self, host: &str, owner: &str) -> Turn {
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever holds a turn holds one of these; the rest is over.
        asking.retain(|_, turn| Arc::strong_count(turn) > 1);
        let key = (host.to_owned(), owner.to_lowercase());
        Arc::clone(asking.entry(key).or_default())
    }
}
