//! Who was asked how often, from the world's own request log.

use std::collections::HashMap;

use sim::Request;

use super::world::World;

/// The forges of the world.
pub(super) const FORGES: [&str; 5] = [
    GITHUB,
    "github.example.org",
    "gitlab.com",
    "gitlab.example.org",
    "codeberg.org",
];
/// The one with a budget for each token.
pub(super) const GITHUB: &str = "github.com";

/// The calls of one pass.
pub(super) struct Calls {
    requests: Vec<Request>,
    /// By a limit.
    pub(super) refused: usize,
}

impl Calls {
    /// All that the world has written down.
    pub(super) fn of(world: &World) -> Self {
        let requests = world.server.journal().select(|_| true);
        let refused = requests.iter().filter(|one| one.limit.is_some()).count();
        Self { requests, refused }
    }

    /// To an upstream.
    pub(super) fn of_upstream(&self, upstream: &str) -> usize {
        let calls = self.requests.iter();
        calls.filter(|one| one.upstream == upstream).count()
    }

    /// To some of the forges, except for packages: those are asked for by owner.
    pub(super) fn forge(&self, of: impl Fn(&str) -> bool) -> usize {
        let calls = self.requests.iter();
        calls
            .filter(|one| FORGES.contains(&one.upstream.as_str()) && of(&one.upstream))
            .filter(|one| !is_for_packages(one))
            .count()
    }

    /// Those for packages on some of the forges: for each owner on average, and the most.
    pub(super) fn packages(&self, world: &World, of: impl Fn(&str) -> bool) -> (f64, usize) {
        let mut owners: HashMap<(&str, String), usize> = HashMap::new();
        let mut numbers: HashMap<(&str, String), String> = HashMap::new();
        for one in world.watched.iter().filter(|one| of(one.host)) {
            let top = one
                .owner
                .split('/')
                .next()
                .unwrap_or_default()
                .to_lowercase();
            owners.insert((one.host, top.clone()), 0);
            numbers.insert((one.host, one.number.to_string()), top);
        }
        let count = owners.len();
        let calls = self.requests.iter().filter(|one| of(&one.upstream));
        for call in calls.filter(|one| is_for_packages(one)) {
            let parts: Vec<&str> = call.path.split(['/', '?']).collect();
            let at = parts.iter().position(|part| *part == "packages");
            let at = at.unwrap_or_default();
            let whose = match (at.checked_sub(2).map(|at| parts[at]), at.checked_sub(1)) {
                (Some("orgs" | "users" | "groups" | "projects"), Some(at)) => parts[at],
                _ => parts.get(at + 1).copied().unwrap_or_default(),
            };
            let named = (call.upstream.as_str(), whose.to_lowercase());
            let owner = match numbers.get(&named) {
                Some(owner) => (named.0, owner.clone()),
                None => named,
            };
            // Further pages may name the owner by its number.
            *owners.entry(owner).or_default() += 1;
        }
        let all: usize = owners.values().sum();
        let most = owners.values().copied().max().unwrap_or_default();
        (all as f64 / count.max(1) as f64, most)
    }

    /// To a forge with a token: all of them, and those that are counted. What is as it was costs
    /// nothing, and questions for many contents at once have a budget of their own.
    pub(super) fn with_token(&self, forge: &str) -> (usize, usize) {
        let calls = self.requests.iter().filter(|one| one.upstream == forge);
        let counted = calls
            .clone()
            .filter(|one| one.status != Some(304) && !one.path.ends_with("graphql"));
        (calls.clone().count(), counted.count())
    }
}

fn is_for_packages(call: &Request) -> bool {
    let path = call.path.split('?').next().unwrap_or_default();
    FORGES.contains(&call.upstream.as_str()) && path.split('/').any(|part| part == "packages")
}
