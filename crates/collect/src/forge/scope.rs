//! Lists of repositories that no single owner has: all of a server, what an installation of an app
//! was given, what a search finds.
//!
//! They stand where an owner's path stands, behind characters that no path begins with.

const EVERYTHING: &str = "*";
const INSTALLATION: &str = "@installation";
const SEARCH: &str = "?";

/// Whose repositories are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// A user's, an organisation's, a group's.
    Of(&'a str),
    /// All of the server.
    Everything,
    /// Those that the installation of an app was given, which the token is of.
    Installation,
    /// Those that the forge's search finds.
    Search(&'a str),
}

impl<'a> Scope<'a> {
    /// Reads what stands where an owner's path stands.
    pub fn read(owner: &'a str) -> Self {
        match owner {
            EVERYTHING => Self::Everything,
            INSTALLATION => Self::Installation,
            _ => owner
                .strip_prefix(SEARCH)
                .map_or(Self::Of(owner), Self::Search),
        }
    }

    /// What to write there.
    pub fn written(self) -> String {
        match self {
            Self::Of(owner) => owner.to_owned(),
            Self::Everything => EVERYTHING.to_owned(),
            Self::Installation => INSTALLATION.to_owned(),
            Self::Search(query) => format!("{SEARCH}{query}"),
        }
    }

    /// For people.
    pub fn shown(self) -> String {
        match self {
            Self::Of(owner) => owner.to_owned(),
            Self::Everything => "everything".to_owned(),
            Self::Installation => "what its installation was given".to_owned(),
            Self::Search(query) => format!("what `{query}` finds"),
        }
    }
}
