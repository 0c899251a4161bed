//! Whole license texts, wherever in a file they stand.
//!
//! Every text of the SPDX list is kept as a row of hashed words. Runs of four words lead from a file
//! to the licenses that have them, and to the place where each would begin; there the two are
//! compared by their pairs of words. So a file costs one look-up per word whatever the number of
//! licenses, and only what is nearly right is compared in full.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::words::Words;

/// Words that must follow each other to count as a hit.
const RUN: usize = 4;
/// Texts longer than this are found by a quarter of their runs.
const LONG: usize = 300;
/// Candidates that are compared in full.
const MOST_CANDIDATES: usize = 24;
/// Least share of a license's runs that a file must have.
const WORTH_A_LOOK: f64 = 0.2;
/// Least likeness, as the Dice coefficient of the pairs of words.
const ALIKE: f64 = 0.84;
/// Texts found in one file.
const MOST_TEXTS: usize = 20;

/// A license text in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextMatch {
    pub(super) id: &'static str,
    /// Words of the file, from and to (exclusive).
    pub(super) from: usize,
    pub(super) to: usize,
    /// 0 to 100.
    pub(super) score: f64,
    /// How much of the license is there, 0 to 100.
    pub(super) coverage: f64,
}

/// All license texts of a file, by their place.
pub(super) fn find(words: &Words) -> Vec<TextMatch> {
    if words.len() < SHORTEST {
        return Vec::new();
    }
    let index = &*INDEX;
    let hashes: Vec<u32> = (0..words.len()).map(|at| hash(words.get(at))).collect();
    let mut found: Vec<TextMatch> = Vec::new();
    for candidate in candidates(index, &hashes) {
        found.extend(compare(index, &hashes, &candidate));
    }
    choose(found)
}

/// The best ones that do not stand in each other's place.
fn choose(mut found: Vec<TextMatch>) -> Vec<TextMatch> {
    found.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (b.to - b.from).cmp(&(a.to - a.from)))
            .then_with(|| a.id.len().cmp(&b.id.len()))
            .then_with(|| a.id.cmp(b.id))
    });
    let mut chosen: Vec<TextMatch> = Vec::new();
    for one in found {
        let free = chosen.iter().all(|other| {
            let shared = one
                .to
                .min(other.to)
                .saturating_sub(one.from.max(other.from));
            shared * 5 < (one.to - one.from).min(other.to - other.from)
        });
        if free && chosen.len() < MOST_TEXTS {
            chosen.push(one);
        }
    }
    chosen.sort_by_key(|one| one.from);
    chosen
}

/// A license that may begin at some word of the file.
struct Candidate {
    license: usize,
    start: i64,
    share: f64,
}

fn candidates(index: &Index, hashes: &[u32]) -> Vec<Candidate> {
    // By license: how often a beginning is implied, in steps of 32 words.
    let mut votes: HashMap<(u16, i64), u32> = HashMap::new();
    for (at, run) in runs(hashes).enumerate() {
        for hit in index.hits(run) {
            let start = at as i64 - i64::from(hit.at);
            *votes
                .entry((hit.license, start.div_euclid(32)))
                .or_default() += 1;
        }
    }
    let mut best: Vec<Candidate> = Vec::new();
    for (&(license, step), &count) in &votes {
        // A text whose words were changed here and there slides from one step to the next.
        let near = |away: i64| votes.get(&(license, step + away)).copied().unwrap_or(0);
        let neighbours = near(-1) + near(1);
        if near(-1) > count || near(1) > count || (near(-1) == count && count > 0) {
            continue;
        }
        let entry = &index.licenses[usize::from(license)];
        let share = f64::from(count + neighbours) / f64::from(entry.indexed.max(1));
        if share >= WORTH_A_LOOK {
            best.push(Candidate {
                license: usize::from(license),
                start: step * 32,
                share,
            });
        }
    }
    best.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then_with(|| a.license.cmp(&b.license))
            .then_with(|| a.start.cmp(&b.start))
    });
    best.truncate(MOST_CANDIDATES);
    best
}

/// Compares a license with the stretch of the file where it should be.
fn compare(index: &Index, hashes: &[u32], candidate: &Candidate) -> Option<TextMatch> {
    let license = &index.licenses[candidate.license];
    let length = license.words.len();
    let slack = (length / 8 + 40) as i64;
    let from = usize::try_from(candidate.start - slack)
        .unwrap_or(0)
        .min(hashes.len());
    let to = usize::try_from(candidate.start + 32 + length as i64 + slack).unwrap_or(0);
    let to = to.min(hashes.len());
    let own: HashSet<u64> = runs(&license.words).collect();
    // From the first common run to the last.
    let common = |at: &usize| {
        let run = hashes.get(*at..*at + RUN).map(run_of);
        run.is_some_and(|run| own.contains(&run))
    };
    let first = (from..to).find(common)?;
    let last = (from..to.saturating_sub(RUN - 1)).rev().find(common)? + RUN;
    if last <= first {
        return None;
    }
    let mut left: HashMap<u64, i32> = HashMap::new();
    for pair in license.words.windows(2) {
        *left.entry(pair_of(pair)).or_default() += 1;
    }
    let mut shared = 0_u32;
    for pair in hashes[first..last].windows(2) {
        if let Some(count) = left.get_mut(&pair_of(pair))
            && *count > 0
        {
            *count -= 1;
            shared += 1;
        }
    }
    let (own, there) = ((length - 1) as f64, (last - first - 1) as f64);
    let likeness = 2.0 * f64::from(shared) / (own + there);
    let coverage = f64::from(shared) / own;
    (likeness >= ALIKE).then_some(TextMatch {
        id: license.id,
        from: first,
        to: last,
        score: (likeness * 10_000.0).round() / 100.0,
        coverage: (coverage * 10_000.0).round() / 100.0,
    })
}

/// Shorter texts are notices.
const SHORTEST: usize = 16;

#[derive(Debug)]
struct License {
    id: &'static str,
    words: Vec<u32>,
    /// How many of its runs are in the index.
    indexed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Hit {
    run: u64,
    license: u16,
    at: u32,
}

#[derive(Debug)]
struct Index {
    licenses: Vec<License>,
    /// Sorted by run.
    hits: Vec<Hit>,
}

impl Index {
    fn hits(&self, run: u64) -> &[Hit] {
        let from = self.hits.partition_point(|hit| hit.run < run);
        let rest = &self.hits[from..];
        let count = rest.iter().take_while(|hit| hit.run == run).count();
        &rest[..count]
    }
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut licenses: Vec<License> = Vec::new();
    for known in spdx::identifiers::LICENSES {
        let Some(id) = spdx::license_id(known.name) else {
            continue;
        };
        // The same text under another name: a file with it says no more than "this version".
        if id.is_deprecated() || known.name.ends_with("-or-later") {
            continue;
        }
        let words: Vec<u32> = terms(known.name, id.text());
        if words.len() >= SHORTEST && licenses.len() < usize::from(u16::MAX) {
            licenses.push(License {
                id: known.name,
                words,
                indexed: 0,
            });
        }
    }
    one_of_equals(&mut licenses);
    let mut hits = Vec::new();
    for (number, license) in licenses.iter_mut().enumerate() {
        for (at, run) in runs(&license.words).enumerate() {
            if license.words.len() > LONG && !run.is_multiple_of(4) {
                continue;
            }
            license.indexed += 1;
            hits.push(Hit {
                run,
                license: u16::try_from(number).unwrap_or(u16::MAX),
                at: u32::try_from(at).unwrap_or(u32::MAX),
            });
        }
    }
    hits.sort_unstable_by_key(|hit| (hit.run, hit.license, hit.at));
    Index { licenses, hits }
});

/// Of licenses with the very same words, the one that people mean: approved, then the shorter name.
fn one_of_equals(licenses: &mut Vec<License>) {
    licenses.sort_by_key(|license| {
        let approved = spdx::license_id(license.id).is_some_and(spdx::LicenseId::is_osi_approved);
        (!approved, license.id.len(), license.id)
    });
    let mut seen = HashSet::new();
    licenses.retain(|license| seen.insert(license.words.clone()));
}

/// The words of a license without what is not part of its terms: copyright lines of its authors and
/// instructions how to apply it.
fn terms(id: &str, text: &str) -> Vec<u32> {
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| {
            let line = line.trim_start().to_ascii_lowercase();
            !(line.starts_with("copyright") || line.starts_with("(c)"))
        })
        .collect();
    let words = Words::new(&kept.join("\n"));
    let mut end = words.len();
    for phrase in [
        "end of terms and conditions",
        "how to apply these terms to your new programs",
        "how to apply these terms to your new libraries",
    ] {
        if let Some(at) = words.find_all(phrase).last() {
            end = end.min(*at);
        }
    }
    // The lesser license is followed by the whole one that it adds to.
    if id.starts_with("LGPL-3.0")
        && let Some(at) = words
            .find_all("gnu general public license version 3")
            .last()
        && *at > 200
    {
        end = end.min(*at);
    }
    (0..end).map(|at| hash(words.get(at))).collect()
}

fn runs(words: &[u32]) -> impl Iterator<Item = u64> {
    words.windows(RUN).map(run_of)
}

fn run_of(words: &[u32]) -> u64 {
    let mut mixed = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        mixed = (mixed ^ u64::from(*word)).wrapping_mul(0x0100_0000_01b3);
        mixed ^= mixed >> 29;
    }
    mixed
}

fn pair_of(pair: &[u32]) -> u64 {
    (u64::from(pair[0]) << 32) | u64::from(pair[1])
}

fn hash(word: &str) -> u32 {
    let mut mixed = 0x811c_9dc5_u32;
    for byte in word.bytes() {
        mixed = (mixed ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    mixed
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn ids(text: &str) -> Vec<&'static str> {
        find(&Words::new(text)).iter().map(|one| one.id).collect()
    }

    fn text(id: &str) -> &'static str {
        spdx::license_id(id).unwrap().text()
    }

    #[test]
    fn common_texts_are_told_apart() {
        for (id, expected) in [
            ("MIT", "MIT"),
            ("Apache-2.0", "Apache-2.0"),
            ("BSD-2-Clause", "BSD-2-Clause"),
            ("BSD-3-Clause", "BSD-3-Clause"),
            ("ISC", "ISC"),
            ("GPL-2.0-or-later", "GPL-2.0-only"),
            ("GPL-3.0-only", "GPL-3.0-only"),
            ("LGPL-2.1-only", "LGPL-2.1-only"),
            ("AGPL-3.0-only", "AGPL-3.0-only"),
            ("MPL-2.0", "MPL-2.0"),
            ("Unlicense", "Unlicense"),
            ("Zlib", "Zlib"),
            ("BSL-1.0", "BSL-1.0"),
            ("0BSD", "0BSD"),
            ("CC0-1.0", "CC0-1.0"),
            ("EPL-2.0", "EPL-2.0"),
        ] {
            assert_eq!(ids(text(id)), [expected], "{id}");
        }
    }

    #[test]
    fn a_text_is_found_in_a_comment_among_code() {
        let mut file = String::from("#include <a.h>\n/*\n");
        for line in text("MIT").lines() {
            file.push_str(" * ");
            file.push_str(line);
            file.push('\n');
        }
        file.push_str(" */\n");
        for number in 0..400 {
            let _ = writeln!(file, "int f{number}(void) {{ return {number}; }}");
        }
        assert_eq!(ids(&file), ["MIT"]);
        let two = format!("{file}\n{}", text("BSD-3-Clause"));
        assert_eq!(ids(&two), ["MIT", "BSD-3-Clause"]);
    }

    #[test]
    fn half_a_text_and_prose_are_none() {
        let whole: Vec<&str> = text("Apache-2.0").split_whitespace().collect();
        let half = whole[..whole.len() / 2].join(" ");
        assert!(ids(&half).is_empty());
        assert!(
            ids("this library lets you permit or deny things as is, without warranty").is_empty()
        );
        assert!(ids("").is_empty());
    }
}
