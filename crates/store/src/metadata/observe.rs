//! Comparing what a forge says with what was known.

use db::{Bulk, DbError, Timestamp, Tx, sql};
use facts::repository::RepositoryUrl;

use super::{Event, Metadata, Seen, Sight, differs, read};
use crate::repositories::{self, Renamed};

/// What an observation came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The repository: another than was asked about, if the two turned out to be one.
    pub id: i64,
    /// The changes, in the order they are told.
    pub events: Vec<Event>,
    /// The entry that is no more, because it is the same repository.
    pub merged: Option<i64>,
    /// Another repository that had the name before: its forge should be asked where it went.
    pub displaced: Option<i64>,
}

impl Observed {
    /// Whether this was among the changes.
    pub fn has(&self, what: &str) -> bool {
        self.events.iter().any(|event| event.what == what)
    }
}

/// A repository as it was known.
struct Known {
    forge: String,
    key: String,
    url: String,
    forge_id: Option<String>,
    archived: bool,
    default_branch: Option<String>,
    gone: bool,
    metadata: Option<Metadata>,
}

/// Writes down how a forge sees a repository; nothing happens to one that is not tracked.
pub async fn observe(
    tx: &mut Tx,
    id: i64,
    seen: &Seen,
    source: &str,
    now: Timestamp,
) -> Result<Observed, DbError> {
    let Some(known) = known(tx, id).await? else {
        return Ok(Observed::default());
    };
    let mut book = Book {
        source,
        now,
        observed: Observed {
            id,
            ..Observed::default()
        },
    };
    match seen {
        Seen::Here(sight) => here(tx, known, sight, &mut book).await?,
        Seen::Missing => absent(tx, &known, "missing", &mut book).await?,
        Seen::Blocked => absent(tx, &known, "blocked", &mut book).await?,
    }
    book.write(tx).await
}

async fn here(
    tx: &mut Tx,
    mut was: Known,
    sight: &Sight,
    book: &mut Book<'_>,
) -> Result<(), DbError> {
    if was.forge_id.is_none()
        && let Some(holder) =
            repositories::set_forge_id(tx, book.observed.id, &sight.forge_id).await?
    {
        repositories::absorb(tx, holder, book.observed.id, book.now).await?;
        book.observed.merged = Some(book.observed.id);
        book.observed.id = holder;
        match known(tx, holder).await? {
            Some(holder) => was = holder,
            None => return Ok(()),
        }
    }
    let id = book.observed.id;
    let presence = was.metadata.as_ref().map(|known| known.presence.as_str());
    if was.gone || presence.is_some_and(|presence| presence != "here") {
        book.event("returned", presence.map(str::to_owned), None);
        repositories::mark_gone(tx, id, None).await?;
    }
    address(tx, &was, sight, book).await?;

    if let Some(archived) = sight.archived
        && archived != was.archived
    {
        repositories::set_archived(tx, id, archived).await?;
        book.event(if archived { "archived" } else { "unarchived" }, None, None);
    }
    let (old, new) = (
        was.default_branch.as_deref(),
        sight.default_branch.as_deref(),
    );
    if differs(old, new) {
        repositories::set_default_branch(tx, id, new).await?;
        book.change("default-branch", old, new);
    }
    if let Some(before) = &was.metadata {
        let word = |flag: Option<bool>| flag.map(|flag| if flag { "true" } else { "false" });
        book.change(
            "visibility",
            before.visibility.as_deref(),
            sight.visibility.as_deref(),
        );
        book.change("fork", word(before.fork), word(sight.fork));
        book.change("parent", before.parent.as_deref(), sight.parent.as_deref());
        book.change("empty", word(before.empty), word(sight.empty));
    }
    keep(tx, id, "here", Some(sight), book).await
}

/// Takes over the address it has now.
async fn address(
    tx: &mut Tx,
    was: &Known,
    sight: &Sight,
    book: &mut Book<'_>,
) -> Result<(), DbError> {
    let same_forge = was.forge == sight.url.forge().as_str();
    if same_forge && was.url == sight.url.url() && was.key == sight.url.key() {
        return Ok(());
    }
    let id = book.observed.id;
    match repositories::rename(tx, id, &sight.url, book.now).await? {
        Renamed::Merged { dropped, .. } => book.observed.merged = Some(dropped),
        Renamed::Displaced { other, .. } => book.observed.displaced = Some(other),
        Renamed::Renamed { .. } | Renamed::Same { .. } | Renamed::Unknown => {}
    }
    let old = RepositoryUrl::parse(&was.url).ok();
    let same = |part: fn(&RepositoryUrl) -> &str| {
        old.as_ref()
            .is_some_and(|old| part(old).eq_ignore_ascii_case(part(&sight.url)))
    };
    let what = match (same(RepositoryUrl::owner), same(RepositoryUrl::name)) {
        // Another case, or a host that is only now known to ignore it.
        (true, true) => return Ok(()),
        (true, false) => "renamed",
        (false, _) => "transferred",
    };
    book.event(what, Some(was.url.clone()), Some(sight.url.url()));
    Ok(())
}

async fn absent(
    tx: &mut Tx,
    was: &Known,
    presence: &'static str,
    book: &mut Book<'_>,
) -> Result<(), DbError> {
    let before = was.metadata.as_ref().map(|known| known.presence.clone());
    if before.as_deref() != Some(presence) {
        book.event(presence, before, None);
    }
    repositories::mark_gone(tx, book.observed.id, Some(book.now)).await?;
    keep(tx, book.observed.id, presence, None, book).await
}

async fn known(tx: &mut Tx, id: i64) -> Result<Option<Known>, DbError> {
    let row = tx
        .fetch_optional(sql!(
            "SELECT r.forge, r.key, r.url, r.forge_id, r.archived, r.default_branch,
                r.gone_at IS NOT NULL AS gone, m.repository IS NOT NULL AS has_metadata,
                COALESCE(m.presence, '') AS presence, m.visibility, m.fork, m.parent, m.empty,
                m.pushed_at, m.of_person, COALESCE(m.source, '') AS source,
                COALESCE(m.observed_at, r.added_at) AS observed_at
             FROM repository r LEFT JOIN repository_metadata m ON m.repository = r.id
             WHERE r.id = $1",
            id
        ))
        .await?;
    let Some(row) = row else { return Ok(None) };
    let metadata = if row.get("has_metadata")? {
        Some(read(&row)?)
    } else {
        None
    };
    Ok(Some(Known {
        forge: row.get("forge")?,
        key: row.get("key")?,
        url: row.get("url")?,
        forge_id: row.get("forge_id")?,
        archived: row.get("archived")?,
        default_branch: row.get("default_branch")?,
        gone: row.get("gone")?,
        metadata,
    }))
}

/// What is said replaces what was known; what is not said stays.
async fn keep(
    tx: &mut Tx,
    id: i64,
    presence: &str,
    sight: Option<&Sight>,
    book: &Book<'_>,
) -> Result<(), DbError> {
    tx.execute(sql!(
        "INSERT INTO repository_metadata
            (repository, presence, visibility, fork, parent, empty, pushed_at, of_person, source,
             observed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (repository) DO UPDATE SET presence = excluded.presence,
            visibility = COALESCE(excluded.visibility, repository_metadata.visibility),
            fork = COALESCE(excluded.fork, repository_metadata.fork),
            parent = COALESCE(excluded.parent, repository_metadata.parent),
            empty = COALESCE(excluded.empty, repository_metadata.empty),
            pushed_at = COALESCE(excluded.pushed_at, repository_metadata.pushed_at),
            of_person = COALESCE(excluded.of_person, repository_metadata.of_person),
            source = excluded.source, observed_at = excluded.observed_at",
        id,
        presence,
        sight.and_then(|sight| sight.visibility.clone()),
        sight.and_then(|sight| sight.fork),
        sight.and_then(|sight| sight.parent.clone()),
        sight.and_then(|sight| sight.empty),
        sight.and_then(|sight| sight.pushed_at),
        sight.and_then(|sight| sight.of_person),
        book.source,
        book.now
    ))
    .await?;
    Ok(())
}

/// Changes on their way into the table.
struct Book<'a> {
    source: &'a str,
    now: Timestamp,
    observed: Observed,
}

impl Book<'_> {
    fn event(&mut self, what: &str, was: Option<String>, became: Option<String>) {
        self.observed.events.push(Event {
            what: what.to_owned(),
            was,
            became,
            source: self.source.to_owned(),
            observed_at: self.now,
        });
    }

    /// An event, if something was known before and is otherwise now.
    fn change(&mut self, what: &str, was: Option<&str>, became: Option<&str>) {
        if was.is_some() && differs(was, became) {
            self.event(what, was.map(str::to_owned), became.map(str::to_owned));
        }
    }

    async fn write(self, tx: &mut Tx) -> Result<Observed, DbError> {
        let events = &self.observed.events;
        let rows = Bulk::new()
            .texts("what", events.iter().map(|event| event.what.clone()))
            .texts("was", events.iter().map(|event| event.was.clone()))
            .texts("became", events.iter().map(|event| event.became.clone()));
        tx.execute_bulk(
            sql!(
                "INSERT INTO repository_event
                    (repository, what, was, became, source, observed_at)
                 SELECT $1, r.what, r.was, r.became, $2, $3 FROM {rows}",
                self.observed.id,
                self.source,
                self.now
            ),
            rows,
        )
        .await?;
        Ok(self.observed)
    }
}
