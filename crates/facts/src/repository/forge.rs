//! Kinds of forge, and how each lays out its addresses.

use super::RepositoryUrlError;

/// The software behind a host, as far as addresses are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Forge {
    /// GitHub and its enterprise hosts.
    GitHub,
    /// GitLab: groups within groups.
    GitLab,
    /// Gitea, Forgejo, Codeberg.
    Gitea,
    /// Bitbucket.
    Bitbucket,
    /// A git server about which nothing is known.
    Git,
    /// A directory on this machine.
    Local,
}

/// Hosts whose name does not say what they run.
const KNOWN: &[(&str, Forge)] = &[
    ("0xacab.org", Forge::GitLab),
    ("code.videolan.org", Forge::GitLab),
    ("codeberg.org", Forge::Gitea),
    ("dev.gajim.org", Forge::GitLab),
    ("foss.heptapod.net", Forge::GitLab),
    ("framagit.org", Forge::GitLab),
    ("gist.github.com", Forge::GitHub),
    ("git.disroot.org", Forge::Gitea),
    ("git.fsfe.org", Forge::Gitea),
    ("gitlab.com", Forge::GitLab),
    ("invent.kde.org", Forge::GitLab),
    ("opencode.net", Forge::GitLab),
    ("salsa.debian.org", Forge::GitLab),
    ("source.puri.sm", Forge::GitLab),
];

/// First segments of a path on a GitHub host that are never an owner.
const GITHUB_PAGES: &[&str] = &[
    "about",
    "apps",
    "collections",
    "contact",
    "customer-stories",
    "dashboard",
    "enterprise",
    "events",
    "explore",
    "features",
    "issues",
    "join",
    "login",
    "marketplace",
    "new",
    "notifications",
    "organizations",
    "orgs",
    "pricing",
    "pulls",
    "readme",
    "search",
    "security",
    "settings",
    "site",
    "sponsors",
    "stars",
    "topics",
    "trending",
    "users",
];

/// The same on a GitLab host.
const GITLAB_PAGES: &[&str] = &[
    "-",
    "admin",
    "api",
    "assets",
    "dashboard",
    "explore",
    "groups",
    "help",
    "jwt",
    "oauth",
    "profile",
    "projects",
    "public",
    "search",
    "snippets",
    "uploads",
    "users",
    "v2",
];

/// Words that GitLab forbids as a project's name because its own pages follow the project by them.
const GITLAB_CUTS: &[&str] = &[
    "-",
    "badges",
    "blame",
    "blob",
    "builds",
    "commit",
    "commits",
    "create_dir",
    "edit",
    "files",
    "find_file",
    "issues",
    "merge_requests",
    "pipelines",
    "preview",
    "raw",
    "refs",
    "tree",
    "wikis",
];

impl Forge {
    /// The word used in output and storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Gitea => "gitea",
            Self::Bitbucket => "bitbucket",
            Self::Git => "git",
            Self::Local => "local",
        }
    }

    /// The forge of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [
            Self::GitHub,
            Self::GitLab,
            Self::Gitea,
            Self::Bitbucket,
            Self::Git,
            Self::Local,
        ]
        .into_iter()
        .find(|forge| forge.as_str() == word)
    }

    /// Whether `Owner/Name` and `owner/name` are the same repository.
    pub fn ignores_case(self) -> bool {
        !matches!(self, Self::Git | Self::Local)
    }

    /// The forge a host runs, by its name alone.
    pub(super) fn of_host(host: &str) -> Self {
        let name = host.split_once(':').map_or(host, |(name, _)| name);
        if let Some((_, forge)) = KNOWN.iter().find(|(known, _)| *known == name) {
            return *forge;
        }
        // `gitlab.gnome.org`, `github.example.com`: the first label says it.
        match name.split('.').next().unwrap_or(name) {
            "github" => Self::GitHub,
            "gitlab" => Self::GitLab,
            "gitea" | "forgejo" => Self::Gitea,
            "bitbucket" => Self::Bitbucket,
            _ => Self::Git,
        }
    }

    /// Cuts a path back to the repository and refuses what belongs to none.
    pub(super) fn cut<'p>(
        self,
        host: &str,
        mut path: Vec<&'p str>,
    ) -> Result<Vec<&'p str>, RepositoryUrlError> {
        let first = path.first().copied().unwrap_or_default();
        let pages = match self {
            Self::GitHub => GITHUB_PAGES,
            Self::GitLab => GITLAB_PAGES,
            _ => &[],
        };
        if pages.iter().any(|page| first.eq_ignore_ascii_case(page)) {
            return Err(RepositoryUrlError::Page {
                page: first.to_owned(),
                host: host.to_owned(),
            });
        }
        // Whatever follows `name.git` is a page about the repository.
        if let Some(end) = path.iter().position(|part| {
            part.strip_suffix(".git")
                .is_some_and(|name| !name.is_empty())
        }) {
            path.truncate(end + 1);
        }
        let least = match self {
            Self::GitHub | Self::Gitea | Self::Bitbucket => {
                path.truncate(2);
                2
            }
            Self::GitLab => {
                if let Some(end) = path
                    .iter()
                    .skip(2)
                    .position(|part| GITLAB_CUTS.contains(part))
                {
                    path.truncate(end + 2);
                }
                2
            }
            Self::Git | Self::Local => {
                // Sourcehut's owners start with a tilde; Gitiles sets `+` before its pages.
                if first.starts_with('~') {
                    path.truncate(2);
                }
                if let Some(end) = path.iter().position(|part| *part == "+") {
                    path.truncate(end);
                }
                1
            }
        };
        if path.len() < least {
            return Err(RepositoryUrlError::NoName {
                host: host.to_owned(),
            });
        }
        Ok(path)
    }

    /// Whether the forge would take this as an owner or a name.
    pub(super) fn allows(self, segment: &str) -> bool {
        let plain = !segment.is_empty()
            && segment != "."
            && segment != ".."
            && !segment
                .chars()
                .any(|c| c.is_control() || c == '/' || c == '\\');
        match self {
            Self::GitHub | Self::Gitea | Self::GitLab => {
                plain
                    && segment.len() <= 255
                    && segment
                        .chars()
                        .all(|c| c.is_alphanumeric() || "._-+".contains(c))
            }
            // Bitbucket Server's personal projects are `~user`.
            Self::Bitbucket => {
                plain
                    && segment.len() <= 255
                    && segment
                        .chars()
                        .all(|c| c.is_alphanumeric() || "._-~".contains(c))
            }
            Self::Git | Self::Local => plain && segment.len() <= 1024,
        }
    }
}
