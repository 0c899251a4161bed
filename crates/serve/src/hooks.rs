//! `POST /hooks/github`, `/hooks/gitlab` and `/hooks/gitea`: a forge tells that a repository has
//! changed, and its tags are read at once.
//!
//! A hook is only a hint. It is believed if it proves that it knows the secret, and then does
//! nothing but make one unit due; the unit asks the forge itself. Hooks that are lost cost time and
//! no data: the cadence stays as the net. Without a secret in the configuration nobody is believed.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use engine::Selection;
use facts::repository::RepositoryUrl;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{Web, problem::Problem};

/// The most bytes of a hook; forges send no more.
pub(crate) const MOST: usize = 25 << 20;
/// What reads the tags of a repository.
const KIND: &str = "goindex/tags";
/// The block of SHA-256.
const BLOCK: usize = 64;

/// What forges say of the repository; each has its own words for it.
#[derive(Debug, Deserialize)]
struct Told {
    repository: Option<Place>,
    project: Option<Place>,
}

#[derive(Debug, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "these are the words of the forges"
)]
struct Place {
    clone_url: Option<String>,
    git_http_url: Option<String>,
    html_url: Option<String>,
    web_url: Option<String>,
}

pub(crate) async fn hook(
    State(web): State<Web>,
    Path(forge): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let believed = |secret: &String| match forge.as_str() {
        "github" => header("x-hub-signature-256")
            .and_then(|text| text.strip_prefix("sha256="))
            .is_some_and(|given| is_same(given, &signature(secret.as_bytes(), &body))),
        "gitea" => header("x-gitea-signature")
            .is_some_and(|given| is_same(given, &signature(secret.as_bytes(), &body))),
        "gitlab" => header("x-gitlab-token").is_some_and(|given| is_same(given, secret)),
        _ => false,
    };
    if !["github", "gitlab", "gitea"].contains(&forge.as_str()) {
        return Err(Problem::not_found(format!("there are no hooks of {forge}")));
    }
    if !web.hook_secrets.iter().any(believed) {
        return Err(Problem::forbidden(
            "the hook does not prove that it knows the secret",
        ));
    }
    let told: Told = serde_json::from_slice(&body).map_err(|error| {
        Problem::bad_input(format!("the hook is no JSON that is known: {error}"))
    })?;
    let places = [told.project, told.repository].into_iter().flatten();
    let mut due = false;
    for address in places.flat_map(Place::addresses) {
        due |= bring_forward(&web, &address).await?;
        if due {
            break;
        }
    }
    Ok((StatusCode::ACCEPTED, Json(json!({ "due": due }))).into_response())
}

impl Place {
    fn addresses(self) -> impl Iterator<Item = String> {
        let all = [
            self.clone_url,
            self.git_http_url,
            self.html_url,
            self.web_url,
        ];
        all.into_iter().flatten()
    }
}

/// Makes the unit of a repository due; tells whether there is one.
async fn bring_forward(web: &Web, address: &str) -> Result<bool, Problem> {
    let Ok(url) = RepositoryUrl::parse(address) else {
        return Ok(false);
    };
    // Somebody's disk is nobody else's business.
    if url.is_local() {
        return Ok(false);
    }
    let found = store::repositories::by_url(web.engine.db(), &url).await;
    let Some(repository) = found.map_err(Problem::database)? else {
        return Ok(false);
    };
    let unit = web.engine.find(&format!("{KIND}:{}", repository.id)).await;
    let Some(unit) = unit.map_err(Problem::database)? else {
        return Ok(false);
    };
    let which = Selection {
        ids: Some(vec![unit]),
        ..Selection::default()
    };
    let changed = web.engine.run_now(&which, false).await;
    changed.map_err(Problem::database)?;
    Ok(true)
}

/// HMAC-SHA-256, in hexadecimal.
fn signature(secret: &[u8], message: &[u8]) -> String {
    let mut key = [0; BLOCK];
    if secret.len() > BLOCK {
        key[..32].copy_from_slice(&Sha256::digest(secret));
    } else {
        key[..secret.len()].copy_from_slice(secret);
    }
    let inner = Sha256::new()
        .chain_update(key.map(|byte| byte ^ 0x36))
        .chain_update(message)
        .finalize();
    let outer = Sha256::new()
        .chain_update(key.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize();
    outer
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            use std::fmt::Write as _;
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// In a time that does not tell how much of it is right.
fn is_same(given: &str, known: &str) -> bool {
    let different = given
        .bytes()
        .zip(known.bytes())
        .fold(0, |so_far, (one, other)| so_far | (one ^ other));
    given.len() == known.len() && different == 0
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
    }
}
