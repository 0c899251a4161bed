//! Text of forges, as far as it may be kept.

use db::Timestamp;
use facts::repository::{Forge as Software, RepositoryUrl};

/// Longer names are nobody's.
const LONGEST: usize = 1_000;

/// The address of a repository, if its path makes one.
pub(super) fn address(software: Software, host: &str, path: &str) -> Option<RepositoryUrl> {
    let url = RepositoryUrl::parse(&format!("https://{host}/{path}")).ok()?;
    let url = url.on(software);
    // What was cut off or read otherwise is not what the forge said.
    (url.slug() == path && url.host() == host).then_some(url)
}

/// A name: not empty, short, without invisible characters.
pub(super) fn name(text: Option<String>) -> Option<String> {
    text.filter(|text| {
        !text.is_empty() && text.len() <= LONGEST && !text.chars().any(char::is_control)
    })
}

/// A time; what is none is not told.
pub(super) fn time(text: Option<&str>) -> Option<Timestamp> {
    let time: jiff::Timestamp = text?.parse().ok()?;
    // Some forges write the zero of time for "never".
    (time.as_second() > 0).then(|| time.into())
}

/// A time as questions have it: whole seconds, the beginning of the one it lies in.
pub(super) fn second(at: Timestamp) -> String {
    let at = jiff::Timestamp::from(at);
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// One of the three words.
pub(super) fn visibility(text: Option<String>) -> Option<String> {
    text.filter(|text| matches!(text.as_str(), "public" | "internal" | "private"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_an_address_that_is_the_path_counts() {
        let url = address(Software::GitLab, "gitlab.com", "a/b/c").unwrap();
        assert_eq!((url.owner(), url.name()), ("a/b", "c"));
        for path in [
            "",
            "a",
            "a/b/../c",
            "a/b?x",
            "a/b/c/-/tree",
            "/a/b",
            "a/b.git",
            "orgs/x",
        ] {
            assert_eq!(
                address(Software::GitHub, "github.com", path),
                None,
                "{path}"
            );
        }
    }

    #[test]
    fn never_is_no_time() {
        assert_eq!(time(Some("1970-01-01T00:00:00Z")), None);
        assert_eq!(time(Some("0001-01-01T00:00:00Z")), None);
        assert_eq!(time(Some("soon")), None);
        assert!(time(Some("2026-01-01T00:00:00.123+02:00")).is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<String>()) {
            let _ = address(Software::Gitea, "codeberg.org", &text);
            let _ = time(Some(&text));
            let _ = name(Some(text.clone()));
            let _ = visibility(Some(text));
        }
    }
}
