//! Who may ask a forge, and what they may see.

use serde::Deserialize;

/// A token that an upstream knows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Token {
    /// The upstream that gave it out.
    pub upstream: String,
    /// What the request log calls it.
    pub name: String,
    /// What is sent.
    pub secret: String,
    /// As a classic token announces them; none for fine-grained ones. `repo`
    /// lets it see private repositories.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    /// Requests in an hour (GitHub) or a minute (GitLab), if not the usual.
    #[serde(default)]
    pub limit: Option<u64>,
}

/// What people usually tick.
const USUAL: [&str; 3] = ["public_repo", "read:org", "read:packages"];

impl Token {
    /// A token with the usual rights and the usual limit.
    pub fn new(upstream: &str, name: &str, secret: &str) -> Self {
        Self {
            upstream: upstream.to_owned(),
            name: name.to_owned(),
            secret: secret.to_owned(),
            scopes: Some(USUAL.map(str::to_owned).into()),
            limit: None,
        }
    }

    /// With another limit.
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// With these scopes.
    pub fn with_scopes(mut self, scopes: &[&str]) -> Self {
        self.scopes = Some(scopes.iter().map(|&scope| scope.to_owned()).collect());
        self
    }

    pub(crate) fn lists_packages(&self) -> bool {
        let scopes = self.scopes.iter().flatten();
        scopes.into_iter().any(|scope| scope == "read:packages")
    }

    pub(crate) fn sees_private(&self) -> bool {
        self.scopes
            .as_ref()
            .is_some_and(|scopes| scopes.iter().any(|scope| scope == "repo"))
    }
}
