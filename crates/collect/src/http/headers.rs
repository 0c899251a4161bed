//! The headers that are looked at or kept.

use std::collections::BTreeMap;

use reqwest::header::{HeaderMap, HeaderName};
use url::Url;

use super::upstream::Upstream;

/// Worth keeping: what describes the answer, where the next page is, what the token may do.
/// Cookies and everything unknown are dropped.
const KEPT: [&str; 18] = [
    "accept-ranges",
    "content-range",
    "content-type",
    "current-page",
    "etag",
    "github-authentication-token-expiration",
    "last-modified",
    "link",
    "page-items",
    "x-accepted-oauth-scopes",
    "x-next-page",
    "x-oauth-scopes",
    "x-page",
    "x-per-page",
    "x-pypi-last-serial",
    "x-total",
    "x-total-count",
    "x-total-pages",
];

/// A longer value is dropped.
const LONGEST: usize = 8 << 10;

/// The headers worth keeping.
pub(super) fn kept(headers: &HeaderMap) -> BTreeMap<String, String> {
    KEPT.iter()
        .filter_map(|name| {
            let values: Vec<&str> = headers
                .get_all(*name)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .collect();
            let value = values.join(", ");
            let fits = !values.is_empty() && value.len() <= LONGEST;
            fits.then(|| ((*name).to_owned(), value))
        })
        .collect()
}

/// Whether an answer has what a conditional question needs.
pub(super) fn can_be_asked_again(kept: &BTreeMap<String, String>) -> bool {
    kept.contains_key("etag") || kept.contains_key("last-modified")
}

/// Whether a list in a header has a word.
pub(super) fn says(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|part| part.trim().eq_ignore_ascii_case(word))
}

/// What all headers weigh together.
pub(super) fn weight(headers: &HeaderMap) -> usize {
    headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum()
}

/// Where the next page is, if it is within the upstream.
pub(super) fn next_page(upstream: &Upstream, from: &Url, link: Option<&String>) -> Option<String> {
    let target = link_to_next(link?)?;
    upstream.path_of(&from.join(target).ok()?)
}

/// The target of `<…>; rel="next"` among the links.
fn link_to_next(link: &str) -> Option<&str> {
    let mut rest = link;
    loop {
        let (_, after) = rest.split_once('<')?;
        let (target, after) = after.split_once('>')?;
        // Parameters last until the next link begins.
        let parameters = after.split('<').next().unwrap_or_default();
        let is_next = parameters.split([';', ',']).any(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
            name.trim().eq_ignore_ascii_case("rel")
                && relations.any(|relation| relation.eq_ignore_ascii_case("next"))
        });
        if is_next {
            return Some(target);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::http::settings::UpstreamSettings;

    fn next(link: &str) -> Option<String> {
        let settings = UpstreamSettings::at("https://forge.example/api/v4");
        let upstream = Upstream::new("forge", settings).unwrap();
        let from = upstream.url("/projects?page=1").unwrap();
        next_page(&upstream, &from, Some(&link.to_owned()))
    }

    #[test]
    fn the_next_page_is_found_among_links() {
        let link = r#"<https://forge.example/api/v4/projects?page=1>; rel="prev", <https://forge.example/api/v4/projects?page=3&x=a,b>; title="n"; rel="last next""#;
        assert_eq!(next(link).as_deref(), Some("/projects?page=3&x=a,b"));
        assert_eq!(
            next("<?page=2>;rel=next").as_deref(),
            Some("/projects?page=2")
        );
        assert_eq!(
            next(r#"<https://forge.example/api/v4/a>; rel="last""#),
            None
        );
    }

    #[test]
    fn a_next_page_elsewhere_is_not_followed() {
        assert_eq!(next("<https://evil.example/api/v4/a>; rel=next"), None);
        assert_eq!(next("<https://forge.example/admin>; rel=next"), None);
        assert_eq!(next("<../../admin>; rel=next"), None);
        assert_eq!(next("<http://forge.example/api/v4/a>; rel=next"), None);
    }

    proptest! {
        #[test]
        fn any_link_header_is_survived(link in any::<String>()) {
            let _ = next(&link);
        }
    }
}
