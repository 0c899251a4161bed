//! What is left when everything that fits together has been paired.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    Gap, Grade, NameCheck, Observed, SourceAnswer, Verdict, comparable,
    coverage::{can_be_checked, can_be_declared, covers, never_an_orphan},
    declared::Declaration,
    family, package_url,
    pairing::{MOST_COMPARED, Matched, check_key, related},
    published::Package,
    resemblance::Kinship,
    source,
};

pub(super) fn grade(
    observed: &Observed<'_>,
    packages: &[Package],
    declarations: &[Declaration],
    matched: &Matched,
) -> (Vec<Gap>, usize) {
    let desk = Desk {
        checks: observed
            .checks
            .iter()
            .map(|check| (check_key(&check.ecosystem, &check.name), check))
            .collect(),
        observed,
        packages,
        declarations,
        matched,
    };
    let strangers = desk.strangers();
    let declared = desk.of_declarations(&strangers);
    let in_doubt: HashSet<String> = declared
        .iter()
        .filter(|gap| gap.reason.as_deref().is_some_and(is_perhaps))
        .map(|gap| family(&gap.ecosystem).to_owned())
        .collect();
    let published = desk.of_packages(&strangers, &in_doubt);
    let mut gaps: BTreeMap<(String, String), Gap> = BTreeMap::new();
    for gap in declared.into_iter().chain(published) {
        let key = (gap.ecosystem.clone(), gap.name.clone());
        match gaps.get(&key) {
            Some(known) if known.grade >= gap.grade => {}
            _ => {
                gaps.insert(key, gap);
            }
        }
    }
    let gaps: Vec<Gap> = gaps.into_values().collect();
    let unchecked = |gap: &&Gap| gap.reason.as_deref() == Some(UNCHECKED);
    let unchecked = gaps.iter().filter(unchecked).count();
    (gaps, unchecked)
}

const UNCHECKED: &str = "the registry has not been asked for the name";
/// Before the packages that may be what a name stands for.
const PERHAPS: &str = "perhaps published under another name: ";

fn is_perhaps(reason: &str) -> bool {
    reason.starts_with(PERHAPS)
}

/// A source and why it did not tell all, where it said so.
fn with_reason(silent: &SourceAnswer) -> String {
    match &silent.why {
        Some(why) => {
            let why: String = why.chars().take(LONGEST_REASON).collect();
            format!("{} ({why})", silent.source)
        }
        None => silent.source.clone(),
    }
}

/// The details are with the source; here a line must do.
const LONGEST_REASON: usize = 120;

/// Packages of each family that no declaration names, and whose names have nothing to do with any.
type Strangers<'s> = HashMap<&'s str, Vec<usize>>;

struct Desk<'d> {
    observed: &'d Observed<'d>,
    packages: &'d [Package],
    declarations: &'d [Declaration],
    matched: &'d Matched,
    checks: HashMap<(String, String), &'d NameCheck>,
}

impl Desk<'_> {
    /// What is declared and not published under that name, each name once.
    fn of_declarations(&self, strangers: &Strangers<'_>) -> Vec<Gap> {
        // The same name in two directories is one package: published from either, it is published.
        let mut published: HashMap<(String, String), bool> = HashMap::new();
        for (place, declaration) in self.declarations.iter().enumerate() {
            if let Some(name) = &declaration.name {
                let key = (
                    declaration.ecosystem.clone(),
                    comparable(&declaration.ecosystem, name),
                );
                *published.entry(key).or_default() |= self.matched.published[place];
            }
        }
        let mut told: HashSet<(String, String)> = HashSet::new();
        let mut gaps = Vec::new();
        for (place, declaration) in self.declarations.iter().enumerate() {
            let Some(name) = &declaration.name else {
                continue;
            };
            if !declaration.counts()
                || !declaration.explicit
                || never_an_orphan(&declaration.ecosystem)
            {
                continue;
            }
            let key = (
                declaration.ecosystem.clone(),
                comparable(&declaration.ecosystem, name),
            );
            if published.get(&key) == Some(&true) || !told.insert(key) {
                continue;
            }
            gaps.extend(self.of_declaration(place, declaration, name, strangers));
        }
        gaps
    }

    fn of_declaration(
        &self,
        place: usize,
        declaration: &Declaration,
        name: &str,
        strangers: &Strangers<'_>,
    ) -> Option<Gap> {
        let ecosystem = &declaration.ecosystem;
        let mut gap = Gap {
            ecosystem: ecosystem.clone(),
            name: name.to_owned(),
            grade: Grade::Unknown,
            purl: package_url(ecosystem, name, declaration.uuid.as_deref()),
            path: Some(declaration.path.clone()),
            package: None,
            linked: None,
            reason: None,
        };
        let check = self.checks.get(&check_key(ecosystem, name));
        match check.map(|check| check.verdict) {
            // The registry has it and links it here, even if no list of ours names it.
            Some(Verdict::Ours) => return None,
            Some(Verdict::Other) => {
                gap.linked = check.and_then(|check| check.linked.clone());
                let reason = if gap.linked.is_some() {
                    gap.grade = Grade::NameConflict;
                    "the name belongs to another repository"
                } else {
                    // Every third package says nothing of its source: it may well be ours.
                    "the registry has the name and does not say whose it is"
                };
                gap.reason = Some(reason.to_owned());
                return Some(gap);
            }
            Some(Verdict::Unclear) => {
                gap.linked = check.and_then(|check| check.linked.clone());
                let reason = "the name is linked to what may be this repository at another address";
                gap.reason = Some(reason.to_owned());
                return Some(gap);
            }
            Some(Verdict::Absent) | None => {}
        }
        if let Some(why) = self.who_could_not_answer(ecosystem, name, check.is_some()) {
            gap.reason = Some(why);
            return Some(gap);
        }
        if let Some(package) = self.matched.renamed[place] {
            gap.grade = Grade::NameDiffers;
            gap.package = Some(self.packages[package].name.clone());
            gap.reason = Some("published under another name".to_owned());
            return Some(gap);
        }
        if let Some(strangers) = strangers.get(family(ecosystem)) {
            let names = strangers.iter().map(|place| &self.packages[*place].name);
            if let [only] = strangers.as_slice() {
                gap.package = Some(self.packages[*only].name.clone());
            }
            let names: Vec<&str> = names.take(3).map(String::as_str).collect();
            gap.reason = Some(format!("{PERHAPS}{}", names.join(", ")));
            return Some(gap);
        }
        gap.grade = Grade::Orphan;
        gap.reason = Some(if self.matched.removed[place] {
            "removed from its registry".to_owned()
        } else {
            "published nowhere".to_owned()
        });
        Some(gap)
    }

    fn strangers(&self) -> Strangers<'_> {
        let mut strangers: Strangers<'_> = HashMap::new();
        for (place, package) in self.packages.iter().enumerate() {
            if package.live && self.matched.of_package[place].is_none() {
                let kin = family(&package.ecosystem);
                strangers.entry(kin).or_default().push(place);
            }
        }
        // Each with each; where that is too much, nothing is called an orphan.
        let known = |package: usize| {
            let package = &self.packages[package];
            let kin = family(&package.ecosystem);
            let mut declared = self.declarations.iter();
            declared.any(|one| {
                family(&one.ecosystem) == kin
                    && related(package, one, self.observed.owner) == Kinship::Sibling
            })
        };
        strangers.retain(|_, places| {
            if places.len() <= MOST_COMPARED && self.declarations.len() <= MOST_COMPARED {
                places.retain(|place| !known(*place));
            }
            !places.is_empty()
        });
        strangers
    }

    /// Why nothing can be said of a name that was found nowhere; none when all have answered.
    fn who_could_not_answer(&self, ecosystem: &str, name: &str, checked: bool) -> Option<String> {
        let Observed {
            forge,
            sources,
            names_are_asked,
            ..
        } = *self.observed;
        let relevant = || {
            sources
                .iter()
                .filter(|one| covers(&one.source, forge, ecosystem))
        };
        if relevant().next().is_none() {
            return Some(format!("no source can be asked about {ecosystem} packages"));
        }
        let tree = sources.iter().filter(|one| one.source == source::MANIFESTS);
        let silent: Vec<String> = relevant()
            .chain(tree)
            .filter(|one| !one.complete)
            .map(with_reason)
            .collect();
        if !silent.is_empty() {
            return Some(format!("no whole answer from {}", silent.join(", ")));
        }
        if names_are_asked && !checked && can_be_checked(ecosystem, name) {
            return Some(UNCHECKED.to_owned());
        }
        if family(ecosystem) == "maven" && !name.contains([':', '/']) {
            return Some("its group is not known".to_owned());
        }
        None
    }

    /// What is published and declared nowhere.
    fn of_packages(&self, strangers: &Strangers<'_>, in_doubt: &HashSet<String>) -> Vec<Gap> {
        let tree = self
            .observed
            .sources
            .iter()
            .find(|one| one.source == source::MANIFESTS);
        let silent = match tree {
            None => Some("no source reads the repository's tree"),
            Some(tree) if !tree.complete => Some("the repository's tree was not read whole"),
            Some(_) => None,
        };
        let kin = |wanted: fn(&Declaration) -> bool| -> HashSet<&str> {
            self.declarations
                .iter()
                .filter(|one| one.ordinary && wanted(one))
                .map(|one| family(&one.ecosystem))
                .collect()
        };
        let unreadable = kin(|one| one.unreadable);
        let nameless = kin(|one| one.name.is_none() && !one.denied && !one.unreadable);
        let mut gaps = Vec::new();
        for (place, package) in self.packages.iter().enumerate() {
            let found = self.matched.of_package[place];
            let family = family(&package.ecosystem);
            let doubted = in_doubt.contains(family)
                && strangers
                    .get(family)
                    .is_some_and(|all| all.contains(&place));
            if !package.live || found.is_some() || !can_be_declared(family) {
                continue;
            }
            let why = match silent {
                Some(why) => Some(why),
                None if unreadable.contains(family) => Some("a manifest could not be read"),
                // One of those that do not show their name may well be it.
                None if nameless.contains(family) => continue,
                None if doubted => Some("a declared name may stand for it"),
                None => None,
            };
            gaps.push(Gap {
                ecosystem: package.ecosystem.clone(),
                name: package.name.clone(),
                grade: if why.is_some() {
                    Grade::Unknown
                } else {
                    Grade::Undeclared
                },
                purl: package_url(&package.ecosystem, &package.name, package.uuid.as_deref()),
                path: None,
                package: Some(package.name.clone()),
                linked: None,
                reason: Some(why.unwrap_or("no manifest declares it").to_owned()),
            });
        }
        gaps
    }
}
