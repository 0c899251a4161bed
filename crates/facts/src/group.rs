//! Groups: named sets of repositories.

use std::fmt;

use serde::Serialize;

/// The longest name of a group, in characters.
const MAX_CHARS: usize = 100;

/// A group's name: letters, digits, `.`, `_`, `-` and `/`; case does not make two.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct GroupName(String);

/// Why a text cannot name a group.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupNameError {
    /// Nothing is left after trimming.
    #[error("a group needs a name")]
    Empty,
    /// Longer than a name may be.
    #[error("a group's name has at most {MAX_CHARS} characters")]
    TooLong,
    /// Only digits would be taken for a number.
    #[error("a group's name needs at least one letter")]
    Number,
    /// A character that would have to be quoted everywhere.
    #[error("`{0}` cannot stand in a group's name: use letters, digits, `.`, `_`, `-` and `/`")]
    Character(char),
}

impl GroupName {
    /// Reads a name.
    pub fn parse(text: &str) -> Result<Self, GroupNameError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(GroupNameError::Empty);
        }
        if text.chars().count() > MAX_CHARS {
            return Err(GroupNameError::TooLong);
        }
        if let Some(wrong) = text
            .chars()
            .find(|c| !(c.is_alphanumeric() || ['.', '_', '-', '/'].contains(c)))
        {
            return Err(GroupNameError::Character(wrong));
        }
        if !text.chars().any(char::is_alphabetic) {
            return Err(GroupNameError::Number);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is compared.
    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        assert_eq!(GroupName::parse(" CHAOSS ").unwrap().key(), "chaoss");
        assert_eq!(GroupName::parse(""), Err(GroupNameError::Empty));
        assert_eq!(GroupName::parse("a b"), Err(GroupNameError::Character(' ')));
        assert_eq!(GroupName::parse("2026"), Err(GroupNameError::Number));
        assert_eq!(
            GroupName::parse(&"x".repeat(101)),
            Err(GroupNameError::TooLong)
        );
    }
}
