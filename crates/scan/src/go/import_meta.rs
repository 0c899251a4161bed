//! What a host answers about an import path: `<meta name="go-import" content="PREFIX VCS URL">` in
//! the head of a page, with a subdirectory behind it from Go 1.25 on.
//!
//! As the go command reads it: whatever comes after the head does not count, and a path that two
//! answers fit has none.

use std::convert::Infallible;

use html5gum::{StartTag, Token, Tokenizer};

/// No head is longer.
const MAX_PAGE: usize = 1 << 20;

/// Where an import path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportMeta {
    /// The path that stands for the top of the repository, or for `subdir` in it.
    pub prefix: String,
    /// Where the repository is.
    pub url: String,
    /// Empty for the top.
    pub subdir: String,
}

/// The answer of a page to the question for a path, if a git repository is one.
pub fn import_meta(page: &[u8], path: &str) -> Option<ImportMeta> {
    let page = &page[..page.len().min(MAX_PAGE)];
    let text = String::from_utf8_lossy(page);
    let mut found = None;
    for token in Tokenizer::new(text.as_ref()) {
        let token: Result<Token, Infallible> = token;
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) if tag.name.as_slice() == b"body" => break,
            Token::EndTag(tag) if tag.name.as_slice() == b"head" => break,
            Token::StartTag(tag) if tag.name.as_slice() == b"meta" => {
                let Some(meta) = read(&tag).filter(|meta| covers(&meta.prefix, path)) else {
                    continue;
                };
                if found.as_ref().is_some_and(|other| *other != meta) {
                    return None;
                }
                found = Some(meta);
            }
            _ => {}
        }
    }
    found
}

fn read(tag: &StartTag<()>) -> Option<ImportMeta> {
    let attribute = |name: &[u8]| {
        let mut all = tag.attributes.iter();
        let (_, value) = all.find(|(known, _)| known.as_slice() == name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    if attribute(b"name")? != "go-import" {
        return None;
    }
    let content = attribute(b"content")?;
    let words: Vec<&str> = content.split_whitespace().collect();
    let (&[prefix, "git", url] | &[prefix, "git", url, _]) = words.as_slice() else {
        return None;
    };
    Some(ImportMeta {
        prefix: prefix.to_owned(),
        url: url.to_owned(),
        subdir: words
            .get(3)
            .map_or("", |word| word.trim_matches('/'))
            .to_owned(),
    })
}

fn covers(prefix: &str, path: &str) -> bool {
    let rest = path.strip_prefix(prefix);
    !prefix.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(page: &str, path: &str) -> Option<String> {
        let meta = import_meta(page.as_bytes(), path)?;
        let subdir = if meta.subdir.is_empty() { "" } else { " in " };
        Some(format!("{}{subdir}{}", meta.url, meta.subdir))
    }

    #[test]
    fn answers_are_read_as_go_reads_them() {
        let page = |metas: &str| format!("<!doctype html><html><head>{metas}</head><body>x");
        let meta = |content: &str| format!("<META name='go-import' content=\"{content}\">");
        let one = page(&meta("go.example/lib git https://git.example/lib"));
        assert_eq!(
            url(&one, "go.example/lib").as_deref(),
            Some("https://git.example/lib")
        );
        assert!(url(&one, "go.example/lib/sub").is_some());
        assert_eq!(url(&one, "go.example/library"), None);
        let below = page(&meta(
            "go.example/lib git https://git.example/all /libs/lib/",
        ));
        assert_eq!(
            url(&below, "go.example/lib").as_deref(),
            Some("https://git.example/all in libs/lib")
        );
        for other in [
            "go.example/lib hg https://hg.example/lib",
            "go.example/lib mod https://proxy.example",
            "go.example/lib git",
            "go.example/lib git https://git.example/lib a b",
            "",
        ] {
            assert_eq!(url(&page(&meta(other)), "go.example/lib"), None, "{other}");
        }
        // Two that differ are none; the same twice is one.
        let two = page(&(meta("go.example git https://a") + &meta("go.example/lib git https://b")));
        assert_eq!(url(&two, "go.example/lib"), None);
        let twice = meta("go.example git https://a").repeat(2);
        assert!(url(&page(&twice), "go.example/lib").is_some());
        // Only the head counts.
        let late = format!("<head></head>{}", meta("go.example git https://a"));
        assert_eq!(url(&late, "go.example"), None);
        let late = format!("<body>{}", meta("go.example git https://a"));
        assert_eq!(url(&late, "go.example"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_page_is_survived(page in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
            let _ = import_meta(&page, "go.example/lib");
        }
    }
}
