//! Remote and secret text, made fit for errors, logs and pages.

use std::fmt::Write as _;

use secrecy::ExposeSecret as _;

use super::settings::Token;

/// What stands where something must not be shown.
const HIDDEN: &str = "***";

/// Parts of parameter names whose values are kept to ourselves.
const SENSITIVE: [&str; 8] = [
    "token",
    "secret",
    "password",
    "signature",
    "credential",
    "auth",
    "apikey",
    "api_key",
];

/// Text without control characters and not longer than `most` characters.
pub(super) fn escape(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == most {
            shown.push('…');
            break;
        }
        match letter {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            // Characters that turn the direction of writing would garble the line they stand in.
            letter if letter.is_control() || ('\u{202a}'..='\u{2069}').contains(&letter) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(letter));
            }
            letter => shown.push(letter),
        }
    }
    shown
}

/// A path with its query, without the values of parameters that sound secret.
pub(super) fn path(path: &str) -> String {
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    let mut shown = escape(path, 300);
    for (index, pair) in query.into_iter().flat_map(|q| q.split('&')).enumerate() {
        if index == 20 {
            shown.push('…');
            break;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let lower = name.to_ascii_lowercase();
        let value = if SENSITIVE.iter().any(|word| lower.contains(word)) {
            HIDDEN.to_owned()
        } else {
            escape(value, 80)
        };
        let joint = if index == 0 { '?' } else { '&' };
        let _ = write!(shown, "{joint}{}={value}", escape(name, 80));
    }
    shown
}

/// The beginning of a body, in backticks.
pub(super) fn quote(body: &[u8]) -> String {
    let start = &body[..body.len().min(1000)];
    let start = String::from_utf8_lossy(start);
    format!("`{}`", escape(start.trim(), 80))
}

/// Whether an address has the secret of one of these tokens in it. Host names lose their case.
pub(super) fn gives_away(address: &str, tokens: &[Token]) -> bool {
    let address = address.to_ascii_lowercase();
    tokens.iter().any(|token| {
        let secret = token.secret.expose_secret().to_ascii_lowercase();
        !secret.is_empty() && address.contains(&secret)
    })
}

/// Text without the secrets of these tokens. A service that echoes what it was sent must not
/// carry a secret into an error.
pub(super) fn scrub(mut text: String, tokens: &[Token]) -> String {
    for token in tokens {
        let secret = token.secret.expose_secret();
        // A secret may have been cut off by whoever quoted it: its first half gives it away too.
        let half = &secret[..secret.floor_char_boundary(secret.len().div_ceil(2))];
        if !secret.is_empty() && text.contains(half) {
            text = text.replace(secret, HIDDEN).replace(half, HIDDEN);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sensitive_parameters_are_hidden() {
        assert_eq!(
            path("/a?page=2&private_token=abc&X-Amz-Signature=f00&q=x%20y"),
            "/a?page=2&private_token=***&X-Amz-Signature=***&q=x%20y"
        );
    }

    #[test]
    fn a_cut_secret_is_hidden_as_well() {
        let tokens = [Token::new("one", "ghp_0123456789abcdef\n")];
        let text = scrub("got ghp_0123456789abcdef and ghp_0123456…".into(), &tokens);
        assert_eq!(text, "got *** and ***6…");
    }

    proptest! {
        #[test]
        fn shown_text_is_bounded_and_without_control_characters(text in any::<String>()) {
            for shown in [escape(&text, 50), path(&text), quote(text.as_bytes())] {
                prop_assert!(!shown.chars().any(char::is_control));
                prop_assert!(shown.chars().count() <= 20 * 1800);
            }
        }
    }
}
