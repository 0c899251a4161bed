//! Which package comes from which manifest.
//!
//! By name first; then by what the registry or the package's path says of its directory; then those
//! whose names are variants of one; then one manifest and one package of a family that are left
//! over are taken for each other, unless their names say that they are two things.

use std::collections::{HashMap, HashSet};

use super::{
    Confidence, How, Likeness, NameCheck, Observed, Pairing, Verdict, compare,
    declared::Declaration,
    family,
    names::{bucket, is_major},
    package_url,
    published::Package,
    resemblance::{Kinship, kinship},
};

/// What was found to belong together.
#[derive(Debug)]
pub(super) struct Matched {
    /// For each package, the declaration it comes from.
    pub(super) of_package: Vec<Option<Match>>,
    /// For each declaration, whether a package that is published has its name.
    pub(super) published: Vec<bool>,
    /// For each declaration, whether that is so in a registry for all, and not only in its forge's.
    public: Vec<bool>,
    /// For each declaration, whether a package that was removed from its registry had its name.
    pub(super) removed: Vec<bool>,
    /// For each declaration, the package it is taken for under another name.
    pub(super) renamed: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) declaration: usize,
    pub(super) how: How,
    confidence: Confidence,
}

/// Pairs every package with the declaration it comes from, where one can be found.
pub(super) fn pair(
    packages: &[Package],
    declarations: &[Declaration],
    observed: &Observed<'_>,
) -> Matched {
    let mut matched = Matched {
        of_package: vec![None; packages.len()],
        published: vec![false; declarations.len()],
        public: vec![false; declarations.len()],
        removed: vec![false; declarations.len()],
        renamed: vec![None; declarations.len()],
    };
    by_name(packages, declarations, &mut matched);
    by_directory(packages, declarations, &mut matched);
    let spoken_for = spoken_for(declarations, observed.checks);
    let left = LeftOver {
        packages,
        declarations,
        spoken_for: &spoken_for,
        owner: observed.owner,
    };
    left.eliminate(&mut matched);
    matched
}

/// The declarations whose names the registry knows, as ours or as another's: what has become of
/// them is told, and what is left over need not be they.
fn spoken_for(declarations: &[Declaration], checks: &[NameCheck]) -> Vec<bool> {
    let known: HashSet<(String, String)> = checks
        .iter()
        .filter(|check| check.verdict != Verdict::Absent)
        .map(|check| check_key(&check.ecosystem, &check.name))
        .collect();
    let is_known = |one: &Declaration| {
        let name = one.name.as_ref();
        name.is_some_and(|name| known.contains(&check_key(&one.ecosystem, name)))
    };
    declarations.iter().map(is_known).collect()
}

fn by_name(packages: &[Package], declarations: &[Declaration], matched: &mut Matched) {
    let index = Index::of(declarations);
    for (place, package) in packages.iter().enumerate() {
        let mut best: Option<(Rank, Match)> = None;
        for (candidate, how, likeness) in index.candidates(package, declarations) {
            let declaration = &declarations[candidate];
            // Redistributors tell of their own recipes only.
            let same_word = declaration.ecosystem == package.ecosystem;
            let published = package.live || (package.redistributed && same_word);
            matched.published[candidate] |= published;
            matched.public[candidate] |= published && !package.of_forge;
            matched.removed[candidate] |= package.removed;
            let confidence = match likeness {
                Likeness::Same if package.attested => Confidence::Sure,
                Likeness::Same => Confidence::Likely,
                _ => Confidence::Weak,
            };
            let rank = (
                likeness == Likeness::Same,
                declaration.ordinary,
                !declaration.denied,
                same_word,
                // The shallowest come first in the list.
                usize::MAX - candidate,
            );
            let found = Match {
                declaration: candidate,
                how,
                confidence,
            };
            if best.is_none_or(|(before, _)| rank > before) {
                best = Some((rank, found));
            }
        }
        matched.of_package[place] = best.map(|(_, found)| found);
    }
}

type Rank = (bool, bool, bool, bool, usize);

/// Declarations by what a package might know them by.
struct Index<'d> {
    names: HashMap<(&'d str, String), Vec<(usize, bool)>>,
    uuids: HashMap<&'d str, Vec<usize>>,
    /// Families in which the repository is the name.
    families: HashMap<&'d str, Vec<usize>>,
}

impl<'d> Index<'d> {
    fn of(declarations: &'d [Declaration]) -> Self {
        let mut index = Self {
            names: HashMap::new(),
            uuids: HashMap::new(),
            families: HashMap::new(),
        };
        for (place, one) in declarations.iter().enumerate() {
            let kin = family(&one.ecosystem);
            let names = one.name.iter().map(|name| (name, false));
            for (name, output) in names.chain(one.outputs.iter().map(|name| (name, true))) {
                let key = (kin, bucket(&one.ecosystem, name));
                index.names.entry(key).or_default().push((place, output));
            }
            if let Some(uuid) = &one.uuid {
                index.uuids.entry(uuid).or_default().push(place);
            }
            if named_by_repository(kin) {
                index.families.entry(kin).or_default().push(place);
            }
        }
        index
    }

    fn candidates(
        &self,
        package: &Package,
        declarations: &[Declaration],
    ) -> Vec<(usize, How, Likeness)> {
        let kin = family(&package.ecosystem);
        if named_by_repository(kin) {
            let all = self.families.get(kin).into_iter().flatten();
            return all
                .map(|place| (*place, How::Repository, Likeness::Same))
                .collect();
        }
        let mut found = Vec::new();
        for name in std::iter::once(&package.name).chain(&package.aliases) {
            let key = (kin, bucket(&package.ecosystem, name));
            for (place, output) in self.names.get(&key).into_iter().flatten() {
                let declaration = &declarations[*place];
                let likeness = |declared: &String| {
                    compare(
                        (&declaration.ecosystem, declared),
                        (&package.ecosystem, name),
                    )
                };
                let (how, likeness) = if *output {
                    let outputs = declaration.outputs.iter().map(likeness);
                    (How::Output, outputs.max())
                } else {
                    (How::Name, declaration.name.as_ref().map(likeness))
                };
                // Two packages may share a name; their identifiers then tell.
                let strangers =
                    matches!((&declaration.uuid, &package.uuid), (Some(a), Some(b)) if a != b);
                match likeness {
                    Some(likeness) if likeness > Likeness::Different && !strangers => {
                        found.push((*place, how, likeness));
                    }
                    _ => {}
                }
            }
        }
        if let Some(uuid) = &package.uuid {
            let same = self.uuids.get(uuid.as_str()).into_iter().flatten();
            found.extend(same.map(|place| (*place, How::Uuid, Likeness::Same)));
        }
        found
    }
}

fn named_by_repository(family: &str) -> bool {
    matches!(family, "swiftpm" | "actions")
}

/// The directory that the registry names, or the rest of a module's path.
fn by_directory(packages: &[Package], declarations: &[Declaration], matched: &mut Matched) {
    let mut free: HashMap<(&str, &str), usize> = HashMap::new();
    for (place, one) in declarations.iter().enumerate().rev() {
        if one.counts() && !matched.published[place] {
            for directory in [Some(&one.directory), one.claimed.as_ref()]
                .into_iter()
                .flatten()
            {
                free.insert((family(&one.ecosystem), directory), place);
            }
        }
    }
    for (place, package) in packages.iter().enumerate() {
        if matched.of_package[place].is_some() || !package.live {
            continue;
        }
        let kin = family(&package.ecosystem);
        let named = package.directory.as_deref();
        let found = named
            .and_then(|directory| free.get(&(kin, directory)).copied())
            .or_else(|| {
                let below = below_repository(&package.name).filter(|_| kin == "go")?;
                free.get(&(kin, below.as_str())).copied()
            });
        if let Some(declaration) = found {
            matched.of_package[place] = Some(Match {
                declaration,
                how: How::Directory,
                confidence: Confidence::Likely,
            });
            matched.renamed[declaration].get_or_insert(place);
        }
    }
}

/// `sub` of `github.com/owner/name/sub/v2`; none for the module at the top.
fn below_repository(module: &str) -> Option<String> {
    let parts: Vec<&str> = module
        .split('/')
        .skip(3)
        .filter(|part| !is_major(part))
        .collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// What a name found nothing for.
struct LeftOver<'l> {
    packages: &'l [Package],
    declarations: &'l [Declaration],
    spoken_for: &'l [bool],
    owner: &'l str,
}

/// Packages and declarations of one family that nothing was found for.
type Left = (Vec<usize>, Vec<usize>);

impl LeftOver<'_> {
    /// First those whose names are variants of one and of nothing else, then one and one, which
    /// belong together more likely than not.
    fn eliminate(&self, matched: &mut Matched) {
        for how in [How::Resemblance, How::Leftover] {
            for left in self.by_family(matched) {
                let pairs = match how {
                    How::Resemblance => self.variants(&left),
                    _ => self.one_and_one(&left).into_iter().collect(),
                };
                for (package, declaration) in pairs {
                    matched.of_package[package] = Some(Match {
                        declaration,
                        how,
                        confidence: Confidence::Weak,
                    });
                    matched.renamed[declaration] = Some(package);
                }
            }
        }
    }

    fn by_family(&self, matched: &Matched) -> Vec<Left> {
        let mut left: HashMap<&str, Left> = HashMap::new();
        for (place, package) in self.packages.iter().enumerate() {
            if package.live && matched.of_package[place].is_none() {
                let kin = family(&package.ecosystem);
                left.entry(kin).or_default().0.push(place);
            }
        }
        for (place, one) in self.declarations.iter().enumerate() {
            // In its forge's registry under its own name, it may be elsewhere under another.
            let taken =
                matched.public[place] || matched.renamed[place].is_some() || self.spoken_for[place];
            if one.counts() && !taken {
                let kin = family(&one.ecosystem);
                left.entry(kin).or_default().1.push(place);
            }
        }
        left.into_values().collect()
    }

    fn variants(&self, (packages, declarations): &Left) -> Vec<(usize, usize)> {
        if packages.len().max(declarations.len()) > MOST_COMPARED {
            return Vec::new();
        }
        let mut pairs = Vec::new();
        for package in packages {
            for declaration in declarations {
                if self.kinship(*package, *declaration) == Kinship::Variant {
                    pairs.push((*package, *declaration));
                }
            }
        }
        let alone = |(package, declaration): &(usize, usize)| {
            let same = pairs
                .iter()
                .filter(|(other, another)| other == package || another == declaration);
            same.count() == 1
        };
        pairs.iter().copied().filter(alone).collect()
    }

    fn one_and_one(&self, (packages, declarations): &Left) -> Option<(usize, usize)> {
        let ([package], [declaration]) = (packages.as_slice(), declarations.as_slice()) else {
            return None;
        };
        // A sibling of any declaration is explained: it belongs beside that one.
        let kin = family(&self.packages[*package].ecosystem);
        let explained = (0..self.declarations.len())
            .filter(|place| family(&self.declarations[*place].ecosystem) == kin)
            .any(|place| self.kinship(*package, place) == Kinship::Sibling);
        (!explained).then_some((*package, *declaration))
    }

    fn kinship(&self, package: usize, declaration: usize) -> Kinship {
        let (package, declaration) = (&self.packages[package], &self.declarations[declaration]);
        related(package, declaration, self.owner)
    }
}

/// What the names of a package and of a declaration have to do with each other; without a name,
/// nothing.
pub(super) fn related(package: &Package, declaration: &Declaration, owner: &str) -> Kinship {
    declaration.name.as_ref().map_or(Kinship::Stranger, |name| {
        kinship(&package.name, name, owner)
    })
}

/// More left over than this is not compared each with each.
pub(super) const MOST_COMPARED: usize = 200;

/// The pairings as they are told, with those that only the registry's own check knows of.
pub(super) fn table(
    observed: &Observed<'_>,
    packages: &[Package],
    declarations: &[Declaration],
    matched: &Matched,
) -> Vec<Pairing> {
    let ours: HashMap<(String, String), &NameCheck> = observed
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Ours)
        .map(|check| (check_key(&check.ecosystem, &check.name), check))
        .collect();
    let mut table = Vec::new();
    for (package, found) in packages.iter().zip(&matched.of_package) {
        let Some(found) = found else { continue };
        let declaration = &declarations[found.declaration];
        let checked = found.how == How::Name
            && found.confidence == Confidence::Likely
            && ours.contains_key(&check_key(&package.ecosystem, &package.name));
        let confidence = if checked {
            Confidence::Sure
        } else {
            found.confidence
        };
        let uuid = package.uuid.as_deref().or(declaration.uuid.as_deref());
        table.push(Pairing {
            ecosystem: package.ecosystem.clone(),
            package: package.name.clone(),
            purl: package_url(&package.ecosystem, &package.name, uuid),
            path: declaration.path.clone(),
            directory: declaration.directory.clone(),
            how: found.how,
            confidence,
        });
    }
    for (declaration, published) in declarations.iter().zip(&matched.published) {
        let (Some(name), false) = (&declaration.name, *published) else {
            continue;
        };
        if ours.contains_key(&check_key(&declaration.ecosystem, name)) {
            table.push(Pairing {
                ecosystem: declaration.ecosystem.clone(),
                package: name.clone(),
                purl: package_url(&declaration.ecosystem, name, declaration.uuid.as_deref()),
                path: declaration.path.clone(),
                directory: declaration.directory.clone(),
                how: How::Registry,
                confidence: Confidence::Likely,
            });
        }
    }
    table
}

/// What a check and a name are compared by.
pub(super) fn check_key(ecosystem: &str, name: &str) -> (String, String) {
    (ecosystem.to_owned(), super::comparable(ecosystem, name))
}
