//! Whose a package is that has a declared name.

use facts::repository::RepositoryUrl;

use super::Wanted;
use crate::{
    distribution::depsdev::{Client, project_id},
    http::{Reply, Unknown},
};

/// Whose a package is that is there.
#[derive(Debug)]
pub(super) enum Whose {
    Ours,
    /// Where it says that it comes from, if it says so.
    Other(Option<String>),
    /// It says that it comes from what may be this repository under an address it has left.
    Unclear(String),
}

/// Asks whose a name is. `own` are the repository's addresses, the present one first.
pub(super) async fn whose(client: &Client, name: &Wanted, own: &[RepositoryUrl]) -> Reply<Whose> {
    let package = match client.package(&name.ecosystem, &name.name).await {
        Reply::Found(package) => package,
        Reply::Absent => return Reply::Absent,
        Reply::Unknown(why) => return Reply::Unknown(why),
    };
    let Some(version) = package.version else {
        return Reply::Found(Whose::Other(None));
    };
    match client.version(&name.ecosystem, &name.name, &version).await {
        Reply::Found(detail) => from(client, &detail.sources(), own).await,
        Reply::Absent => {
            let (ecosystem, name) = (&name.ecosystem, &name.name);
            let message =
                format!("deps.dev lists version {version} of {ecosystem}/{name} and has it not");
            Reply::Unknown(Box::new(Unknown::contradiction(message)))
        }
        Reply::Unknown(why) => Reply::Unknown(why),
    }
}

async fn from(client: &Client, sources: &[RepositoryUrl], own: &[RepositoryUrl]) -> Reply<Whose> {
    let is_own = |source: &RepositoryUrl| own.iter().any(|url| url.key() == source.key());
    if sources.iter().any(is_own) {
        return Reply::Found(Whose::Ours);
    }
    for source in sources {
        let doubt = own.iter().map(|url| doubt(source, url)).max();
        let apart = match doubt.unwrap_or(Doubt::None) {
            Doubt::None => continue,
            Doubt::Mirror => None,
            Doubt::Moved => project_id(source),
        };
        // An address that was left leads on to the repository; the project is then known by the
        // new one, and nothing is known by the old.
        let known = match apart {
            Some(id) => client.knows(&id).await,
            None => Reply::Absent,
        };
        match known {
            Reply::Found(()) => {}
            Reply::Absent => return Reply::Found(Whose::Unclear(source.url())),
            Reply::Unknown(why) => return Reply::Unknown(why),
        }
    }
    Reply::Found(Whose::Other(sources.first().map(RepositoryUrl::url)))
}

/// How much an address looks like one that the repository had, or has as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    None,
    /// It may have been renamed, or transferred: that can be found out.
    Moved,
    /// The same owner and name on another host: the same thing in two places.
    Mirror,
}

fn doubt(link: &RepositoryUrl, own: &RepositoryUrl) -> Doubt {
    let here = link.host() == own.host();
    let name = link.name().eq_ignore_ascii_case(own.name());
    let owner = link.owner().eq_ignore_ascii_case(own.owner());
    match (here, owner, name) {
        (false, true, true) => Doubt::Mirror,
        (_, _, true) | (true, true, _) => Doubt::Moved,
        _ => Doubt::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_shares_a_name_or_an_owner_may_be_an_old_address() {
        let own = RepositoryUrl::parse("https://github.com/a/b").unwrap();
        for (link, expected) in [
            ("https://github.com/x/y", Doubt::None),
            ("https://github.com/x/B", Doubt::Moved),
            ("https://github.com/A/y", Doubt::Moved),
            ("https://codeberg.org/a/b", Doubt::Mirror),
            ("https://codeberg.org/x/b", Doubt::Moved),
            ("https://codeberg.org/a/y", Doubt::None),
        ] {
            let link = RepositoryUrl::parse(link).unwrap();
            assert_eq!(doubt(&link, &own), expected, "{link:?}");
        }
    }
}
