//! public-inbox, as at lore.kernel.org: one git repository for each epoch, one commit for each mail.
//!
//! All epochs are read, each from the commit up to which it was read before; dates of commits say
//! nothing about mail (an import gives all of them one day). In the second version of the format a
//! commit's tree is one file, `m` with a mail or `d` with one that was removed; in the first the
//! tree holds all mail by name. Where history was rewritten (a mail was edited or purged), the whole
//! epoch is compared with what is here: what it no longer has is forgotten.
//!
//! An epoch without refs, or without a single mail, is no answer: a wall that keeps robots out can
//! look so.

mod epochs;
mod events;

use futures_util::future::BoxFuture;
use store::mail::{self, NewCopy, pack};
use url::Url;

use epochs::Layout;
pub use epochs::inboxes;
use events::Events;

use super::source::{ArchiveSource, Desk, Part, PartEnd, Stopped, Visit};
use crate::{
    git::{
        Blob, Local,
        remote::{Contents, Fetched, Remote, RemoteError, Remotes, Want},
    },
    http::Unknown,
};

/// Mails that are read by one process of git.
const AT_ONCE: usize = 500;
/// Digests that are compared at once.
const COMPARED: usize = 5_000;
/// The digest of nothing: what is left of a purged mail.
pub(super) const EMPTY: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// A server with public-inbox's interface.
#[derive(Debug, Default)]
pub struct PublicInbox {
    opened: tokio::sync::OnceCell<Remotes>,
}

/// Where an inbox is.
struct Place {
    upstream: String,
    /// The path of the inbox on the server.
    path: String,
}

impl Place {
    fn of(visit: &Visit<'_>) -> Result<Self, Stopped> {
        let list = visit.list;
        let base = list.base.as_deref().unwrap_or("https://lore.kernel.org");
        let unit = |why: String| Stopped::Run(engine::RunError::unit(why));
        let url = Url::parse(base).map_err(|error| unit(error.to_string()))?;
        let host = url
            .host_str()
            .ok_or_else(|| unit("the archive has no host".to_owned()))?;
        let name = list
            .inbox
            .as_deref()
            .or_else(|| list.address.split('@').next())
            .unwrap_or_default();
        let sound = !name.is_empty()
            && !name.starts_with('.')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._+/".contains(&byte))
            && !name.contains("..");
        if !sound {
            return Err(unit(format!("`{name}` is no name of an inbox")));
        }
        Ok(Self {
            upstream: host.to_owned(),
            path: format!("{}/{name}", url.path().trim_end_matches('/')),
        })
    }
}

impl PublicInbox {
    /// The repository of an epoch.
    async fn remote(
        &self,
        visit: &Visit<'_>,
        place: &Place,
        layout: Layout,
        part: &str,
    ) -> Result<Remote, Stopped> {
        let way = visit.session.way(&place.upstream).ok_or_else(|| {
            let why = format!("{} is not an upstream that can be asked", place.upstream);
            Stopped::Run(engine::RunError::unit(why))
        })?;
        let remotes = self.opened.get_or_try_init(|| {
            let mut settings = visit.settings.git.clone();
            if way.may_be_private
                && let Ok(base) = Url::parse(&way.base)
                && let Some(host) = base.host_str()
            {
                settings.private_hosts.insert(host.to_owned());
            }
            Remotes::open(settings)
        });
        let path = layout.path(&place.path, part);
        Ok(remotes.await?.remote(&format!("{}{path}", way.base))?)
    }
}

impl ArchiveSource for PublicInbox {
    fn plan<'a>(&'a self, visit: &'a Visit<'a>) -> BoxFuture<'a, Result<Vec<Part>, Stopped>> {
        Box::pin(async move {
            let place = Place::of(visit)?;
            let epochs = epochs::find(self, visit, &place).await?;
            let last = epochs.len().saturating_sub(1);
            let part = |(at, name): (usize, String)| Part {
                name,
                expected: None,
                open: at == last,
            };
            Ok(epochs.into_iter().enumerate().map(part).collect())
        })
    }

    fn read<'a>(
        &'a self,
        visit: &'a Visit<'a>,
        part: &'a Part,
        desk: &'a mut Desk<'_>,
    ) -> BoxFuture<'a, Result<PartEnd, Stopped>> {
        Box::pin(async move {
            let place = Place::of(visit)?;
            let layout = Layout::of(&part.name);
            let remote = self.remote(visit, &place, layout, &part.name).await?;
            let epoch = Epoch {
                visit,
                part,
                layout,
                known: visit.known.iter().find(|known| known.part == part.name),
            };
            epoch.read(&remote, desk).await
        })
    }
}

/// One epoch of one visit.
struct Epoch<'a> {
    visit: &'a Visit<'a>,
    part: &'a Part,
    layout: Layout,
    known: Option<&'a mail::KnownPart>,
}

impl Epoch<'_> {
    async fn read(&self, remote: &Remote, desk: &mut Desk<'_>) -> Result<PartEnd, Stopped> {
        let refs = remote.refs(&["HEAD", "refs/heads/"]).await?;
        let head = refs.head.as_ref().and_then(|head| head.id.clone());
        let branch = refs.refs.iter().find(|one| one.name == "refs/heads/master");
        let branch = branch.or_else(|| refs.refs.first());
        let (want, tip) = match (head, branch) {
            (Some(tip), _) => (Want::Head, tip),
            (None, Some(branch)) => (Want::Ref(branch.name.clone()), branch.id.clone()),
            (None, None) => return Err(self.wall("it has no branches")),
        };
        if let Some(known) = self.known
            && known.tip.as_ref() == Some(&tip)
        {
            return Ok(end(Some(known.found), tip));
        }
        let fetched = remote.fetch(&[want], Contents::History).await?;
        let Some(tip) = fetched.commit().map(str::to_owned) else {
            return Err(self.wall("its branch leads to no commit"));
        };
        let old = self.known.and_then(|known| known.tip.as_deref());
        let local = fetched.local();
        let old = match old {
            Some(old) if local.is_ancestor(old, &tip).await? => Some(old),
            _ => None,
        };
        let mut events = Events::new(self.layout);
        local
            .changes(old, &tip, |change| events.tell(change))
            .await?;
        if old.is_none() && events.is_empty() {
            return Err(self.wall("it holds neither mail nor removals"));
        }
        self.stage(&fetched, &events, desk).await?;
        for id in events.removed() {
            match self.layout {
                Layout::First => desk.take_back(id).await?,
                // What is removed may lie in any epoch before.
                Layout::Second => desk.bury(&self.part.name, id).await?,
            }
        }
        if old.is_none() {
            self.compare(&events, desk).await?;
        }
        Ok(end(None, tip))
    }

    /// Stages the mail that is there and is not known yet.
    async fn stage(
        &self,
        fetched: &Fetched,
        events: &Events,
        desk: &mut Desk<'_>,
    ) -> Result<(), Stopped> {
        let local: &Local = fetched.local();
        for ids in events.present().chunks(AT_ONCE) {
            let known = mail::known_digests(self.visit.cx.db(), self.visit.list.id, ids).await?;
            let (db, list) = (self.visit.cx.db(), self.visit.list.id);
            let buried = mail::buried(db, list, ids).await?;
            let is_buried = |id: &String| {
                let later = buried.get(id).and_then(|part| part.parse::<u32>().ok());
                later > self.part.name.parse().ok()
            };
            let wanted: Vec<&str> = ids
                .iter()
                .filter(|id| !known.contains(*id) && !is_buried(id))
                .map(String::as_str)
                .collect();
            let mut copies = Vec::with_capacity(wanted.len());
            let mut missing = None;
            local
                .blobs(&wanted, |place, blob| match blob {
                    Blob::Bytes(bytes) => copies.push(self.copy(wanted[place], &bytes)),
                    // Nobody sends such mail; that it was there is kept.
                    Blob::TooLarge { bytes } => {
                        let note = format!("Subject: (a mail of {bytes} bytes)\n\n");
                        copies.push(self.copy(wanted[place], note.as_bytes()));
                    }
                    Blob::Missing => missing = Some(wanted[place].to_owned()),
                })
                .await?;
            if let Some(id) = missing {
                let message = format!("the mail {id} is not in the repository");
                let why = Unknown::contradiction(message);
                return Err(Stopped::Unknown(Box::new(why)));
            }
            for copy in copies {
                desk.take(copy).await?;
            }
        }
        Ok(())
    }

    fn copy(&self, id: &str, bytes: &[u8]) -> NewCopy {
        NewCopy {
            part: self.part.name.clone(),
            digest: id.to_owned(),
            size: bytes.len(),
            envelope_at: None,
            raw: pack(bytes),
        }
    }

    /// Forgets what the epoch no longer has, after its history was rewritten.
    async fn compare(&self, events: &Events, desk: &mut Desk<'_>) -> Result<(), Stopped> {
        let mut after = 0;
        loop {
            let (db, list) = (self.visit.cx.db(), self.visit.list.id);
            let page = mail::digests_of(db, list, &self.part.name, after, COMPARED).await?;
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            after = *last;
            for (_, digest) in page {
                if !events.has(&digest) {
                    desk.take_back(digest).await?;
                }
            }
        }
    }

    /// What stands where mail should be is no answer.
    fn wall(&self, why: &str) -> Stopped {
        let message = format!(
            "epoch {} of {} cannot be an archive: {why}",
            self.part.name, self.visit.list.address
        );
        Stopped::Remote(RemoteError::Damaged {
            url: self.visit.list.base.clone().unwrap_or_default(),
            message,
        })
    }
}

fn end(found: Option<i64>, tip: String) -> PartEnd {
    PartEnd {
        found,
        tip: Some(tip),
        why: None,
        incomplete: false,
    }
}
