//! The questions that ecosyste.ms is asked.

use std::collections::BTreeSet;

use facts::repository::RepositoryUrl;

use super::read::{Row, Rows};
use crate::{
    distribution::Settings,
    http::{Ask, Decoded, Reply, Session, Unknown},
};

/// Whom this collector asks.
pub const UPSTREAM: &str = "ecosyste.ms";

/// Rows of one page. They are some kilobytes each, and few repositories have as many.
const PAGE: usize = 250;
/// More pages are not read: no repository has so many packages.
const PAGES: usize = 40;
/// Rows of a bulk look-up at most; nothing says that there are more.
const BULK: usize = 1_000;

/// ecosyste.ms, in the hands of one run.
#[derive(Clone, Debug)]
pub struct Client {
    session: Session,
    settings: Settings,
}

/// The packages that name an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    pub rows: Vec<Row>,
    /// Why there may be more.
    pub missing: Option<String>,
}

/// One page of a list.
struct Page {
    rows: Vec<Row>,
    /// Rows that could not be read.
    odd: usize,
    last: bool,
}

impl Client {
    /// Asks in this session.
    pub fn new(session: Session, settings: Settings) -> Self {
        Self { session, settings }
    }

    /// The packages that name an address, page by page.
    ///
    /// Pages are cut from a list that may change meanwhile: what moves to a page that was read
    /// already is never seen. So what has several pages is looked at again, which costs little
    /// where nothing has changed, and a list that did change is not taken for whole.
    pub async fn look_up(&self, address: &RepositoryUrl) -> Result<Listed, Box<Unknown>> {
        let mut listed = Listed::default();
        let mut pages: Vec<BTreeSet<String>> = Vec::new();
        let mut seen = BTreeSet::new();
        loop {
            let number = pages.len() + 1;
            if number > PAGES {
                listed.missing = Some(format!("more than {PAGES} pages"));
                return Ok(listed);
            }
            let Page { rows, odd, last } = self.page(address, number).await?;
            if odd > 0 {
                listed.missing = Some(format!("{odd} packages could not be read"));
            }
            let ids = rows.iter().map(|row| row.id.clone()).collect();
            pages.push(ids);
            listed
                .rows
                .extend(rows.into_iter().filter(|row| seen.insert(row.id.clone())));
            if last {
                break;
            }
        }
        pages.pop();
        for (place, before) in pages.iter().enumerate() {
            let again = self.page(address, place + 1).await?;
            let now: BTreeSet<String> = again.rows.iter().map(|row| row.id.clone()).collect();
            if now != *before {
                listed.missing = Some("the list changed while it was read".to_owned());
                break;
            }
        }
        keep_own(&mut listed, address);
        Ok(listed)
    }

    async fn page(&self, address: &RepositoryUrl, number: usize) -> Result<Page, Box<Unknown>> {
        let ask = Ask::get(UPSTREAM, "/packages/lookup")
            .query("repository_url", address.url())
            .query("per_page", PAGE)
            .query("page", number)
            .same_for_all();
        let Decoded { value, response } = self.rows(ask).await?;
        // A service that gives smaller pages than were asked for says that there is another.
        let last = response.next.is_none() && value.len() < PAGE;
        let (rows, odd) = value.read();
        Ok(Page { rows, odd, last })
    }

    /// The packages that name any of many addresses, in one question. None if there may be more
    /// than came.
    pub async fn bulk(
        &self,
        addresses: &[RepositoryUrl],
    ) -> Result<Option<Vec<Row>>, Box<Unknown>> {
        let urls: Vec<String> = addresses.iter().map(RepositoryUrl::url).collect();
        let body = serde_json::json!({ "repository_urls": urls });
        let ask = Ask::post_json(UPSTREAM, "/packages/bulk_lookup", &body).repeatable();
        let rows = self.rows(ask).await?.value;
        let cut = rows.len() >= BULK;
        let (rows, odd) = rows.read();
        Ok((!cut && odd == 0).then_some(rows))
    }

    async fn rows(&self, ask: Ask) -> Result<Decoded<Rows>, Box<Unknown>> {
        let ask = match &self.settings.polite_address {
            Some(address) => ask.query("mailto", address),
            None => ask,
        };
        match self.session.ask_json(&self.settings.signed(ask)).await {
            Reply::Found(decoded) => Ok(decoded),
            // It says "none" by an empty list; "not found" is no word of its own.
            Reply::Absent => {
                let message = "ecosyste.ms does not know its own look-up".to_owned();
                Err(Box::new(Unknown::contradiction(message)))
            }
            Reply::Unknown(why) => Err(why),
        }
    }
}

/// Drops what was not asked for: a service that overlooks the question answers with anything.
fn keep_own(listed: &mut Listed, address: &RepositoryUrl) {
    let all = listed.rows.len();
    listed.rows.retain(|row| names(row, address));
    if listed.rows.len() < all && listed.missing.is_none() {
        listed.missing = Some("packages of other repositories came".to_owned());
    }
}

/// Whether a package names this address.
pub(super) fn names(row: &Row, address: &RepositoryUrl) -> bool {
    row.repository_url.eq_ignore_ascii_case(&address.url())
}
