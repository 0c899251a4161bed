//! What each repository has published to begin with, by seed.

use jiff::SignedDuration;

use super::{
    Repository, declared,
    publication::{Publication, Registries, by_name},
};
use crate::dice::{Dice, fingerprint};

/// Where publications come from.
pub(super) struct Origin<'a> {
    pub(super) host: &'a str,
    pub(super) repository: &'a Repository,
}

impl Origin<'_> {
    pub(super) fn publish(&self, seed: u64, registries: &mut Registries) {
        let number = self.repository.id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut dice = Dice(seed ^ fingerprint(self.host.as_bytes()) ^ number ^ 0x7265_6769);
        for declared in declared(self.repository) {
            let (ecosystem, package) = (declared.ecosystem, declared.package.as_str());
            let fate = dice.below(100);
            if declared.intent != "yes" {
                continue;
            }
            // Nobody could find out whose a name is where no view can be asked for names.
            let fate = if by_name(ecosystem) { fate } else { fate % 83 };
            match fate {
                // Taken already, by whom it may be: then that is its fate.
                _ if !registries.is_free(ecosystem, package) => {}
                0..=64 => {
                    let made = self.made(&mut dice, ecosystem, package, Some(package));
                    registries.add(made);
                }
                65..=74 => {}
                75..=82 => {
                    let name = format!("{package}-ng");
                    let name = if ecosystem == "pub" {
                        name.replace('-', "_")
                    } else {
                        name
                    };
                    let made = self.made(&mut dice, ecosystem, &name, Some(package));
                    registries.add(made);
                }
                83..=91 => {
                    let link = format!("https://github.com/elsewhere/{}", self.repository.name);
                    let made = self.made(&mut dice, ecosystem, package, None);
                    registries.add(Publication {
                        owner: None,
                        link: Some(link),
                        carried_by: Vec::new(),
                        ..made
                    });
                }
                // There, but without a word of where it comes from.
                _ => {
                    let made = self.made(&mut dice, ecosystem, package, Some(package));
                    registries.add(Publication { link: None, ..made });
                }
            }
        }
        if dice.below(15) == 0 && !self.repository.empty {
            let name = format!("{}-extras", self.repository.first_name);
            let made = self.made(&mut dice, "npm", &name, None);
            registries.add(made);
        }
        if dice.below(15) == 0 {
            let name = format!("{}-neighbour", self.repository.first_name);
            let made = self.made(&mut dice, "pypi", &name, None);
            registries.add(Publication {
                owner: None,
                link: None,
                tracker: made.link,
                ..made
            });
        }
    }

    fn made(
        &self,
        dice: &mut Dice,
        ecosystem: &str,
        package: &str,
        declared_as: Option<&str>,
    ) -> Publication {
        let (from, to) = (self.repository.created_at, self.repository.pushed_at);
        let span = (to.as_second() - from.as_second()).max(2) as u64;
        let first = dice.below(span / 2);
        let latest = first + dice.below(span - first);
        let at = |seconds: u64| from + SignedDuration::from_secs(seconds as i64);
        let carried_by = match dice.below(20) {
            0 => vec!["debian", "homebrew"],
            1 => vec!["nixpkgs"],
            _ => Vec::new(),
        };
        let attested = dice.below(4) == 0;
        Publication {
            ecosystem: ecosystem.to_owned(),
            package: package.to_owned(),
            owner: Some((self.host.to_owned(), self.repository.id)),
            link: Some(format!("https://{}/{}", self.host, self.repository.path())),
            tracker: None,
            declared_as: declared_as.map(str::to_owned),
            provenance: match ecosystem {
                "npm" if attested => "SLSA_ATTESTATION",
                "pypi" if attested => "PYPI_PUBLISH_ATTESTATION",
                "rubygems" if attested => "RUBYGEMS_PUBLISH_ATTESTATION",
                "go" => "GO_ORIGIN",
                _ => "UNVERIFIED_METADATA",
            },
            versions: 1 + dice.below(12) as u32 * dice.below(5) as u32,
            first_at: at(first),
            latest_at: at(latest),
            deprecated: dice.below(20) == 0,
            removed: false,
            carried_by,
        }
    }
}
