//! Contributors: people, known by the addresses they write from.

use std::fmt;

use serde::Serialize;

/// The longest address that mail can carry (RFC 5321, section 4.5.3.1.3, less the brackets).
const MAX_BYTES: usize = 254;

/// An e-mail address, with the case it was written in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Address(String);

/// The text is no address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an e-mail address")]
pub struct NotAnAddress;

impl Address {
    /// Reads a bare address, with or without angle brackets. Only what could be delivered to is
    /// refused or not: one `@` at least, both sides filled, nothing invisible.
    pub fn parse(text: &str) -> Result<Self, NotAnAddress> {
        let text = text.trim();
        let text = text
            .strip_prefix('<')
            .and_then(|text| text.strip_suffix('>'))
            .unwrap_or(text);
        let (local, domain) = text.rsplit_once('@').ok_or(NotAnAddress)?;
        let visible = |c: char| !c.is_control() && !c.is_whitespace() && c != '<' && c != '>';
        let sound = !local.is_empty()
            && !domain.is_empty()
            && text.len() <= MAX_BYTES
            && text.chars().all(visible);
        sound.then(|| Self(text.to_owned())).ok_or(NotAnAddress)
    }

    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is compared. The local part may differ by case in theory; no mailbox of note does.
    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A person as somebody observed them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contributor {
    /// The name they use.
    pub name: Option<String>,
    /// The addresses they write from.
    pub addresses: Vec<Address>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_their_case_and_compare_without_it() {
        let address = Address::parse(" <Ada@Example.ORG> ").unwrap();
        assert_eq!(address.as_str(), "Ada@Example.ORG");
        assert_eq!(address.key(), "ada@example.org");
        for wrong in ["", "@", "a@", "@b", "a b@c", "a\n@b", "plain"] {
            assert_eq!(Address::parse(wrong), Err(NotAnAddress), "{wrong:?}");
        }
    }
}
