//! Manifest facts: how a repository declares itself, one fact for each file.

use serde::Serialize;

use crate::json::Attributes;

/// What one manifest says. A file that could not be read is a fact too, with an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestFact {
    /// The path in the tree, with `/`.
    pub path: String,
    /// The ecosystem word, for example `npm`.
    pub manifest_type: String,
    /// The name as it is declared.
    pub name: Option<String>,
    /// The name the ecosystem would publish under.
    pub effective_name: Option<String>,
    /// The version, if it is static.
    pub version: Option<String>,
    /// Whether the project means to be published.
    pub intent: Intent,
    /// Why the intent is what it is.
    pub reason: Option<String>,
    /// What the path says about the purpose of the file.
    pub place: Place,
    /// The link to the source repository, as it is written.
    pub repository: Option<String>,
    /// The directory inside that repository.
    pub directory: Option<String>,
    /// What few formats have: a uuid, further outputs.
    pub attributes: Attributes,
    /// Why the file could not be read.
    pub error: Option<String>,
    /// The id of the file's contents. A new one alone is no change of the fact.
    pub blob: Option<String>,
}

impl ManifestFact {
    /// A manifest that says nothing yet.
    pub fn new(path: impl Into<String>, manifest_type: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            manifest_type: manifest_type.into(),
            name: None,
            effective_name: None,
            version: None,
            intent: Intent::Unknown,
            reason: None,
            place: Place::Ordinary,
            repository: None,
            directory: None,
            attributes: Attributes::default(),
            error: None,
            blob: None,
        }
    }
}

/// Makes an enum whose variants are words in output and storage.
macro_rules! words {
    (
        $(#[$meta:meta])* pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word used in output and storage.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The variant of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

pub(crate) use words;

words! {
    /// Whether a project means to be published.
    pub enum Intent {
        /// Nothing stands in the way.
        Yes = "yes",
        /// The file forbids it or cannot be published as it stands.
        Denied = "denied",
        /// The file does not tell.
        Unknown = "unknown",
    }
}

words! {
    /// What a path says about the purpose of a file.
    pub enum Place {
        /// Part of the project itself.
        Ordinary = "ordinary",
        /// Test data or test projects.
        Test = "test",
        /// Examples, demos, benchmarks, documentation.
        Example = "example",
        /// Somebody else's code, copied in.
        Vendored = "vendored",
        /// A template to generate projects from.
        Template = "template",
    }
}
