//! Mail: where it comes from, and what becomes of it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// What kind of archive a list is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Archive {
    /// Pony Mail, as at lists.apache.org.
    PonyMail,
    /// public-inbox, as at lore.kernel.org.
    PublicInbox,
    /// Files of a person.
    Import,
}

/// What becomes of mail that copies what a forge tells as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MirrorHandling {
    /// Nothing but a count; the bytes stay, so that it can be had later.
    Skip,
    /// Everything but the text.
    #[default]
    MetadataOnly,
    /// Everything.
    Full,
}

/// The word is none of those there are.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is none of {known}")]
pub struct UnknownWord {
    word: String,
    known: &'static str,
}

impl Archive {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::PonyMail, Self::PublicInbox, Self::Import];

    /// The word in columns, API and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PonyMail => "pony-mail",
            Self::PublicInbox => "public-inbox",
            Self::Import => "import",
        }
    }

    /// The rules that hold for its lists unless somebody names others.
    pub fn usual_system(self) -> &'static str {
        match self {
            Self::PonyMail => "apache",
            Self::PublicInbox => "lore",
            Self::Import => "generic",
        }
    }
}

impl FromStr for Archive {
    type Err = UnknownWord;

    /// The words of older systems are understood too.
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "pony-mail" | "ponymail" | "apache_ponymail" => Ok(Self::PonyMail),
            "public-inbox" | "public_inbox" | "lore_public_inbox" => Ok(Self::PublicInbox),
            "import" => Ok(Self::Import),
            _ => Err(UnknownWord {
                word: word.to_owned(),
                known: "pony-mail, public-inbox, import",
            }),
        }
    }
}

impl fmt::Display for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl MirrorHandling {
    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::MetadataOnly => "metadata_only",
            Self::Full => "full",
        }
    }
}

impl FromStr for MirrorHandling {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "skip" => Ok(Self::Skip),
            "metadata_only" => Ok(Self::MetadataOnly),
            "full" => Ok(Self::Full),
            _ => Err(UnknownWord {
                word: word.to_owned(),
                known: "skip, metadata_only, full",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for archive in Archive::ALL {
            assert_eq!(archive.as_str().parse(), Ok(archive));
        }
        for handling in ["skip", "metadata_only", "full"] {
            let read: MirrorHandling = handling.parse().unwrap();
            assert_eq!(read.as_str(), handling);
        }
        let error = Archive::from_str("pipermail").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`pipermail` is none of pony-mail, public-inbox, import"
        );
    }
}
