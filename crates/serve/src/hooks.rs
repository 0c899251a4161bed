//! `POST /hooks/github`, `/hooks/gitlab` and `/hooks/gitea`: a forge tells that a repository has
//! changed, and its tags are read at once.
//!
//! A hook is only a hint. It is believed if it proves that it knows the secret, and then does
//! nothing but make units due; they ask the forge themselves. Hooks that are lost cost time and no
//! data: the cadence stays as the net. Without a secret in the configuration nobody is believed,
//! and whoever has overheard a hook and sends it again soon is not listened to.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use engine::Selection;
use facts::repository::RepositoryUrl;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use store::repositories::{self, Repository};
use subtle::ConstantTimeEq as _;

use crate::{Web, problem::Problem};

/// The most bytes of a hook; forges send no more.
pub(crate) const MOST: usize = 25 << 20;
/// What reads the tags of a repository.
const TAGS: &str = "goindex/tags";
/// What asks the forge whether it was renamed, moved, archived or removed.
const METADATA: &str = "repo-metadata";

/// For so long a hook that comes again says nothing new.
const REMEMBERED: Duration = Duration::from_mins(5);
/// So many are remembered at most.
const MOST_REMEMBERED: usize = 4_096;

/// What forges say of the repository; each has its own words for it.
#[derive(Debug, Deserialize)]
struct Told {
    repository: Option<Place>,
    project: Option<Place>,
}

#[derive(Debug, Deserialize)]
struct Place {
    /// The forge's own number, which survives renames.
    id: Option<Value>,
    clone_url: Option<String>,
    git_http_url: Option<String>,
    html_url: Option<String>,
    web_url: Option<String>,
}

pub(crate) async fn hook(
    State(web): State<Web>,
    Path(forge): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    if !["github", "gitlab", "gitea"].contains(&forge.as_str()) {
        return Err(Problem::not_found(format!("there are no hooks of {forge}")));
    }
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large("the hook is longer than any is"),
        _ => Problem::bad_input(error.body_text()),
    })?;
    let secrets = &web.hook_secrets;
    if !secrets
        .iter()
        .any(|secret| is_believed(&forge, secret, &headers, &body))
    {
        return Err(Problem::forbidden(
            "the hook does not prove that it knows the secret",
        ));
    }
    let told: Told = serde_json::from_slice(&body).map_err(|error| {
        Problem::bad_input(format!("the hook is no JSON that is known: {error}"))
    })?;
    let digest: [u8; 32] = Sha256::digest(&body).into();
    if web.recent_hooks.has(&digest) {
        return Ok(answer(false));
    }
    let mut due = false;
    for place in [told.project, told.repository].into_iter().flatten() {
        due = bring_forward(&web, &place, is_about_repository(&headers)).await?;
        if due {
            break;
        }
    }
    web.recent_hooks.remember(digest);
    Ok(answer(due))
}

fn answer(due: bool) -> Response {
    (StatusCode::ACCEPTED, Json(json!({ "due": due }))).into_response()
}

/// Whether a hook proves that whoever sent it knows the secret.
fn is_believed(forge: &str, secret: &str, headers: &HeaderMap, body: &[u8]) -> bool {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match forge {
        "github" => header("x-hub-signature-256")
            .and_then(|text| text.strip_prefix("sha256="))
            .is_some_and(|given| is_same(given, &signature(secret.as_bytes(), body))),
        "gitea" => header("x-gitea-signature")
            .is_some_and(|given| is_same(given, &signature(secret.as_bytes(), body))),
        "gitlab" => header("x-gitlab-token").is_some_and(|given| is_same(given, secret)),
        _ => false,
    }
}

/// Whether the repository itself was renamed, moved, archived or removed, and not its contents.
fn is_about_repository(headers: &HeaderMap) -> bool {
    let names = ["x-github-event", "x-gitea-event"].into_iter();
    let mut events = names.filter_map(|name| headers.get(name));
    events.any(|event| event == "repository")
}

/// Makes the work on a repository due; tells whether there is any.
async fn bring_forward(web: &Web, place: &Place, itself: bool) -> Result<bool, Problem> {
    let Some(repository) = find(web, place).await? else {
        return Ok(false);
    };
    let mut units = Vec::new();
    for kind in [TAGS, METADATA] {
        let unit = web.engine.find(&format!("{kind}:{}", repository.id)).await;
        units.extend(unit.map_err(Problem::database)?);
        if units.is_empty() {
            // It is watched for other reasons.
            return Ok(false);
        }
        if kind == TAGS && !itself && is_named(&repository, place) {
            break;
        }
    }
    let which = Selection {
        ids: Some(units),
        ..Selection::default()
    };
    let changed = web.engine.run_now(&which, false).await;
    changed.map_err(Problem::database)?;
    Ok(true)
}

/// The repository that is spoken of: by an address, else by its number on the host of an address.
async fn find(web: &Web, place: &Place) -> Result<Option<Repository>, Problem> {
    let db = web.engine.db();
    let addresses = place.addresses();
    for url in &addresses {
        let found = repositories::by_url(db, url).await;
        if let Some(found) = found.map_err(Problem::database)? {
            return Ok(Some(found));
        }
    }
    let number = match &place.id {
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(text)) => text.clone(),
        _ => return Ok(None),
    };
    let Some(url) = addresses.first() else {
        return Ok(None);
    };
    let found = repositories::by_forge_id(db, url.host(), &number).await;
    found.map_err(Problem::database)
}

/// Whether it still has the name that we know.
fn is_named(repository: &Repository, place: &Place) -> bool {
    let known = RepositoryUrl::parse(&repository.url).map(|url| url.key());
    let mut told = place.addresses().into_iter().map(|url| url.key());
    known.is_ok_and(|known| told.any(|key| key == known))
}

impl Place {
    /// Where the repository is. Somebody's disk is nobody else's business.
    fn addresses(&self) -> Vec<RepositoryUrl> {
        let all = [
            &self.clone_url,
            &self.git_http_url,
            &self.html_url,
            &self.web_url,
        ];
        all.into_iter()
            .flatten()
            .filter_map(|text| RepositoryUrl::parse(text).ok())
            .filter(|url| !url.is_local())
            .collect()
    }
}

/// The hooks that were believed lately, by their digests.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<VecDeque<(Instant, [u8; 32])>>);

impl Recent {
    fn has(&self, digest: &[u8; 32]) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fresh = known.iter().filter(|(at, _)| at.elapsed() < REMEMBERED);
        fresh.any(|(_, known)| known == digest)
    }

    fn remember(&self, digest: [u8; 32]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back((Instant::now(), digest));
        while known.len() > MOST_REMEMBERED {
            known.pop_front();
        }
    }
}

/// HMAC-SHA-256, in hexadecimal.
fn signature(secret: &[u8], message: &[u8]) -> String {
    // Keys of any length are taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
        return String::new();
    };
    mac.update(message);
    facts::hex::lower(mac.finalize().into_bytes())
}

/// In a time that does not tell how much of it is right. Nothing at all is never right.
fn is_same(given: &str, known: &str) -> bool {
    !known.is_empty() && bool::from(given.as_bytes().ct_eq(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second test case of RFC 4231, and one with a long key.
    #[test]
    fn signatures_are_those_of_the_standard() {
        assert_eq!(
            signature(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let long = [0xaa; 131];
        assert_eq!(
            signature(
                &long,
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            ),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
        assert!(is_same("abc", "abc") && !is_same("abc", "abd") && !is_same("ab", "abc"));
        assert!(!is_same("", ""));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let recent = Recent::default();
        let digest = |n: usize| -> [u8; 32] { Sha256::digest(n.to_string()).into() };
        for n in 0..=MOST_REMEMBERED {
            recent.remember(digest(n));
        }
        assert!(!recent.has(&digest(0)) && recent.has(&digest(1)));
        assert!(recent.has(&digest(MOST_REMEMBERED)));
    }
}
