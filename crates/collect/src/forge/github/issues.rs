//! GitHub's issues and pull requests, which are one list under one row of numbers, and its accounts
//! by address.
//!
//! People are found by an address that their profile shows, else by public commits that bear it.
//! Several accounts for one address are nobody in particular, and apps are nobody at all.

use db::Timestamp;
use serde::Deserialize;

use super::{GitHub, blocked, place};
use crate::forge::{
    Asked, Looked, Which,
    issues::{FoundAccount, FoundBy, IssuePage, Said, is_login, page},
    text,
};

#[derive(Deserialize)]
struct Issue {
    id: Option<i64>,
    number: Option<i64>,
    node_id: Option<String>,
    title: Option<String>,
    state: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    closed_at: Option<String>,
    pull_request: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Accounts {
    items: Vec<Account>,
}

#[derive(Deserialize)]
struct Account {
    login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Commits {
    items: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    commit: Option<Commit>,
    author: Option<Account>,
}

#[derive(Deserialize)]
struct Commit {
    author: Option<Author>,
}

#[derive(Deserialize)]
struct Author {
    email: Option<String>,
}

impl GitHub {
    pub(super) async fn issue_page(
        &self,
        which: &Which,
        since: Option<Timestamp>,
        from: Option<&str>,
    ) -> Asked<Looked<IssuePage>> {
        let ask = if let Some(path) = from {
            self.ask_on(path)
        } else {
            let ask = self
                .ask(&format!("{}/issues", place(which)))
                .query("state", "all")
                .query("sort", "updated")
                .query("direction", "asc")
                .query("per_page", 100);
            match since {
                Some(since) => ask.query("since", text::second(since)),
                None => ask,
            }
        };
        page::<Issue>(&self.session, &ask, blocked, |one| Said {
            pull: one.pull_request.is_some(),
            id: one.id,
            number: one.number,
            node_id: one.node_id,
            title: one.title,
            state: one.state,
            created_at: text::time(one.created_at.as_deref()),
            updated_at: text::time(one.updated_at.as_deref()),
            closed_at: text::time(one.closed_at.as_deref()),
        })
        .await
    }

    pub(super) async fn account_by_address(&self, email: &str) -> Asked<Option<FoundAccount>> {
        let profile = self
            .ask("/search/users")
            .query("q", format!("{email} in:email"))
            .query("per_page", 5)
            .budget("search")
            // An address that search cannot read is nobody's there.
            .absent(&[404, 410, 422]);
        if let Some(found) = self.session.ask_json::<Accounts>(&profile).await.known()?
            && let Some(login) = only(found.value.items)
        {
            let by = FoundBy::Profile;
            return Ok(Some(FoundAccount { login, by }));
        }
        let commits = self
            .ask("/search/commits")
            .query("q", format!("author-email:{email}"))
            .query("per_page", 20)
            .budget("search")
            .absent(&[404, 410, 422]);
        let found = self.session.ask_json::<Commits>(&commits).await.known()?;
        let authors = found.into_iter().flat_map(|found| found.value.items);
        // Search finds more than was asked for now and then.
        let authors = authors.filter(|one| {
            let author = one.commit.as_ref().and_then(|one| one.author.as_ref());
            let said = author.and_then(|one| one.email.as_deref());
            said.is_some_and(|said| said.eq_ignore_ascii_case(email))
        });
        let login = only(authors.filter_map(|one| one.author).collect());
        Ok(login.map(|login| FoundAccount {
            login,
            by: FoundBy::Commits,
        }))
    }
}

/// The one account among these, if it is one.
fn only(accounts: Vec<Account>) -> Option<String> {
    let mut logins = accounts
        .into_iter()
        .filter(|one| one.kind.as_deref().is_none_or(|kind| kind == "User"))
        .filter(|one| is_login(&one.login))
        .map(|one| one.login);
    let first = logins.next()?;
    logins
        .all(|other| other.eq_ignore_ascii_case(&first))
        .then_some(first)
}
