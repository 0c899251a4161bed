//! All collectors. Adding one is its directory and one line in [`entries`].

use std::path::Path;

use db::Timestamp;
use engine::{Enqueue, Requirement};
use facts::repository::RepositoryUrl;

use crate::{
    collector::{Collector, Need, Registered, kind},
    distribution::{
        self,
        depsdev::DepsDev,
        ecosystems::Ecosystems,
        manifests::Manifests,
        names::Names,
        packages::Packages,
        pairing::{Pairing, SwitchedOn},
        releases::Releases,
    },
    drill::Drill,
    forge_activity::ForgeActivity,
    git,
    goindex::{self, GoList, GoPublish, GoTags, GoVanity},
    http::Http,
    license::{self, LicenseScan},
    mail::{self, MailFetch, MailFetchInbox, MailProject, MailResolve, MailSenders},
    organisation::Organisation,
    pypi::{
        self, Desk, PypiAudit, PypiCrawl, PypiDataset, PypiDump, PypiFile, PypiFollow, PypiNumber,
        PypiProject,
    },
    repo_metadata::{self, RepoMetadata},
};

/// What collectors need to reach the outside.
#[derive(Clone, Debug)]
pub struct Outside {
    /// Everything that is asked over HTTP.
    pub http: Http,
    /// What is set about asking where repositories are published.
    pub distribution: distribution::Settings,
    /// How git servers are asked for the Go index.
    pub goindex: goindex::Settings,
    /// The license scanners.
    pub license: license::Desk,
    /// What is set about mail.
    pub mail: mail::Settings,
    /// Whether forges are asked for the issues of all repositories, and not only of those that mail
    /// concerns.
    pub issues_of_all: bool,
    /// What is set about the Python index.
    pub pypi: pypi::Settings,
    /// Where dumps and datasets are made.
    pub desk: Desk,
}

impl Outside {
    /// As it is without a configuration, with a client that its caller has set up and files of git
    /// below `place`. Licenses are not scanned: that is for those who say how.
    pub fn with_defaults(http: Http, place: &Path) -> Self {
        let git = git::remote::Settings::new(place.join("git"), "gleaner");
        let goindex = goindex::Settings::new(git.clone());
        let mut license = license::Settings::new(goindex.clone(), place.join("license"));
        license.enabled = false;
        Self {
            http,
            distribution: distribution::Settings::default(),
            goindex,
            license: license::Desk::new(license),
            mail: mail::Settings::new(place.join("mail"), git),
            issues_of_all: false,
            pypi: pypi::Settings::default(),
            desk: Desk::below(place),
        }
    }

    /// The work that repositories bring whose rounds are switched on. All of it can be stopped.
    fn scans(&self) -> Scans {
        let units: fn(i64, &RepositoryUrl) -> Vec<Enqueue> =
            match (self.distribution.enabled, self.license.settings().enabled) {
                (true, true) => scans,
                (true, false) => distribution::units,
                (false, true) => |id, url| vec![license::unit(id, url)],
                (false, false) => |_, _| Vec::new(),
            };
        Scans { units, ..SCANS }
    }
}

/// What a collector declares, before there is an outside to run it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its policy.
    pub kind: engine::Kind,
    /// One line for people.
    pub summary: &'static str,
    /// What it must have around it.
    pub needs: &'static [Need],
}

/// Every collector there is, in the order of their names.
pub fn all(outside: &Outside) -> Vec<Registered> {
    let entries = entries().into_iter();
    entries.map(|entry| (entry.make)(outside)).collect()
}

/// What every collector declares, in the order of their names.
pub fn declared() -> Vec<Declared> {
    let entries = entries().into_iter();
    entries.map(|entry| entry.declared).collect()
}

struct Entry {
    declared: Declared,
    make: fn(&Outside) -> Registered,
}

/// # Panics
/// If two have the same name: that is a mistake in this file, and every test
/// that starts a worker finds it.
fn entries() -> Vec<Entry> {
    let mut all = vec![
        entry::<DepsDev>(|outside| {
            Registered::new(DepsDev::new(
                outside.http.clone(),
                outside.distribution.clone(),
            ))
        }),
        entry::<Ecosystems>(|outside| {
            Registered::new(Ecosystems::new(
                outside.http.clone(),
                outside.distribution.clone(),
            ))
        }),
        entry::<Names>(|outside| {
            Registered::new(Names::new(
                outside.http.clone(),
                outside.distribution.clone(),
            ))
        }),
        entry::<Pairing>(|outside| {
            Registered::new(Pairing::new(SwitchedOn {
                cross_check: outside.distribution.cross_check,
                ..SwitchedOn::default()
            }))
        }),
        entry::<Manifests>(|outside| Registered::new(Manifests::new(outside.http.clone()))),
        entry::<Packages>(|outside| Registered::new(Packages::new(outside.http.clone()))),
        entry::<Releases>(|outside| Registered::new(Releases::new(outside.http.clone()))),
        entry::<Drill>(|_| Registered::new(Drill)),
        entry::<GoList>(|outside| Registered::new(GoList::new(outside.http.clone()))),
        entry::<GoPublish>(|_| Registered::new(GoPublish)),
        entry::<GoTags>(|outside| {
            let tags = GoTags::new(outside.goindex.clone());
            Registered::new(tags.or_by_api(outside.http.clone()))
        }),
        entry::<GoVanity>(|outside| {
            Registered::new(GoVanity::new(outside.http.clone(), outside.goindex.clone()))
        }),
        entry::<LicenseScan>(|outside| Registered::new(LicenseScan::new(outside.license.clone()))),
        entry::<MailFetch>(|outside| {
            Registered::new(MailFetch::new(outside.http.clone(), outside.mail.clone()))
        }),
        entry::<MailFetchInbox>(|outside| {
            let (http, settings) = (outside.http.clone(), outside.mail.clone());
            Registered::new(MailFetchInbox::new(http, settings))
        }),
        entry::<ForgeActivity>(|outside| Registered::new(ForgeActivity::new(outside.http.clone()))),
        entry::<MailProject>(|outside| Registered::new(MailProject::new(outside.mail.clone()))),
        entry::<MailResolve>(|outside| Registered::new(MailResolve::new(outside.mail.clone()))),
        entry::<MailSenders>(|outside| {
            Registered::new(MailSenders::new(outside.http.clone(), outside.mail.clone()))
        }),
        entry::<Organisation>(|outside| {
            let owners = Organisation::new(outside.http.clone());
            Registered::new(owners.scans(outside.scans()))
        }),
        entry::<PypiAudit>(|outside| {
            Registered::new(PypiAudit::new(outside.http.clone(), outside.pypi.clone()))
        }),
        entry::<PypiCrawl>(|outside| {
            Registered::new(PypiCrawl::new(outside.http.clone(), outside.pypi.clone()))
        }),
        entry::<PypiFile>(|outside| {
            Registered::new(PypiFile::new(outside.http.clone(), outside.pypi.clone()))
        }),
        entry::<PypiFollow>(|outside| {
            Registered::new(PypiFollow::new(outside.http.clone(), outside.pypi.clone()))
        }),
        entry::<PypiNumber>(|_| Registered::new(PypiNumber)),
        entry::<PypiProject>(|outside| {
            Registered::new(PypiProject::new(outside.http.clone(), outside.pypi.clone()))
        }),
        entry::<PypiDataset>(|outside| Registered::new(PypiDataset::new(outside.desk.clone()))),
        entry::<PypiDump>(|outside| Registered::new(PypiDump::new(outside.desk.clone()))),
        entry::<RepoMetadata>(|outside| {
            let metadata = RepoMetadata::new(outside.http.clone());
            Registered::new(
                metadata
                    .scans(outside.scans())
                    .asks_for_issues(outside.issues_of_all),
            )
        }),
    ];
    all.sort_by_key(|one| one.declared.kind.name);
    for pair in all.windows(2) {
        assert_ne!(
            pair[0].declared.kind.name, pair[1].declared.kind.name,
            "two collectors have the same name"
        );
    }
    all
}

fn entry<C: Collector>(make: fn(&Outside) -> Registered) -> Entry {
    Entry {
        declared: Declared {
            kind: kind::<C>(),
            summary: C::SUMMARY,
            needs: C::NEEDS,
        },
        make,
    }
}

/// The kind that all other work on a repository of a forge waits for.
pub const FIRST: &str = RepoMetadata::NAME;

/// The units that a repository brings with it.
pub fn of_repository(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    SCANS.of_repository(id, url)
}

/// The kinds that [`of_repository`] may make, to find a repository's units.
pub fn kinds_of_repository() -> Vec<&'static str> {
    let mut kinds = SCANS.kinds.to_vec();
    kinds.extend([RepoMetadata::NAME, GoTags::NAME, ForgeActivity::NAME]);
    kinds
}

/// The work that looks into repositories: stopped while one is archived.
#[derive(Clone, Copy, Debug)]
pub struct Scans {
    /// The kinds of that work.
    pub kinds: &'static [&'static str],
    /// The units of one repository, by its id and address.
    pub units: fn(i64, &RepositoryUrl) -> Vec<Enqueue>,
}

/// All of it.
pub const SCANS: Scans = Scans {
    kinds: &[
        Manifests::NAME,
        Releases::NAME,
        Packages::NAME,
        DepsDev::NAME,
        Ecosystems::NAME,
        Names::NAME,
        // What is derived begins with the first answer; it only has to be stopped.
        Pairing::NAME,
        LicenseScan::NAME,
    ],
    units: scans,
};

fn scans(id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
    let mut units = distribution::units(id, url);
    units.push(license::unit(id, url));
    units
}

impl Scans {
    /// What a repository brings of which nothing is known yet. Its forge is asked first; the rest
    /// waits until that has ended, well or not: a forge that cannot be asked must not keep what
    /// can be learned elsewhere from being learned.
    pub fn of_repository(&self, id: i64, url: &RepositoryUrl) -> Vec<Enqueue> {
        let scans = (self.units)(id, url).into_iter();
        match repo_metadata::unit(id, url) {
            None => scans.collect(),
            Some(first) => scans
                .map(|scan| scan.requires(Requirement::soft(first.clone())))
                .chain([first.clone()])
                .collect(),
        }
    }

    /// What a repository brings that a forge has just told all about: nothing need wait, and the
    /// forge is asked again at `again`.
    pub fn of_described(&self, id: i64, url: &RepositoryUrl, again: Timestamp) -> Vec<Enqueue> {
        let asked = repo_metadata::unit(id, url).map(|unit| unit.due_at(again));
        (self.units)(id, url).into_iter().chain(asked).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_round_and_what() {
        for one in declared() {
            let name = one.kind.name;
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || "/-".contains(c)),
                "{name}"
            );
            assert!(!one.summary.is_empty(), "{name}");
        }
    }
}
