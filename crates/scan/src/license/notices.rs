//! Notices: the few words by which a file, a README or a header names its license.

use super::{expression, words::Words};

/// A license that is named in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) spdx: String,
    /// Words of the file, from and to (exclusive).
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) rule: &'static str,
    /// The files it leads to.
    pub(super) files: Vec<String>,
}

/// All notices, by their place, none within another.
pub(super) fn find(words: &Words) -> Vec<Notice> {
    let mut found = Vec::new();
    for (phrase, spdx) in PHRASES {
        for from in words.find_all(phrase) {
            let to = from + phrase.split(' ').count();
            found.push(Notice {
                spdx: (*spdx).to_owned(),
                from,
                to,
                rule: "phrase",
                files: Vec::new(),
            });
        }
    }
    gnu(words, &mut found);
    references(words, &mut found);
    // The longer of two that begin together says more.
    found.sort_by(|a, b| a.from.cmp(&b.from).then(b.to.cmp(&a.to)));
    let mut kept: Vec<Notice> = Vec::new();
    for one in found {
        match kept.last_mut() {
            Some(last) if one.to <= last.to => {}
            // "released under the MIT", "MIT license".
            Some(last) if one.from < last.to && one.spdx == last.spdx => last.to = one.to,
            _ => kept.push(one),
        }
    }
    choices(words, kept)
}

/// Neighbours of which the reader may choose one.
fn choices(words: &Words, found: Vec<Notice>) -> Vec<Notice> {
    let mut joined: Vec<Notice> = Vec::new();
    for next in found {
        if let Some(last) = joined.last_mut()
            && last.spdx != next.spdx
            && last.files.is_empty()
            && next.files.is_empty()
            && next.from.saturating_sub(last.to) <= 16
            && is_choice(words, last, &next)
            && let Some(both) = expression::normalise(&format!("{} OR {}", last.spdx, next.spdx))
        {
            last.spdx = both;
            last.to = next.to;
            last.rule = "choice";
            continue;
        }
        joined.push(next);
    }
    joined
}

fn is_choice(words: &Words, a: &Notice, b: &Notice) -> bool {
    let offered = |word: &str| matches!(word, "either" | "dual" | "dually" | "dual-licensed");
    words.between(a.to, b.from).any(|word| word == "or")
        || words
            .between(a.from.saturating_sub(10), a.from)
            .any(offered)
}

/// The GNU licenses: a family, a version, and whether later ones will do.
fn gnu(words: &Words, found: &mut Vec<Notice>) {
    let mut versioned = [false; 3];
    let mut bare: Vec<(Family, usize, usize)> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let Some((family, end)) = family(words, at) else {
            at += 1;
            continue;
        };
        if let Some((version, or_later, to)) = version(words, at, end) {
            // A version that stands before the family does not lead back to it.
            let to = to.max(end).max(at + 1);
            let spdx = family.spdx(version, or_later);
            versioned[family as usize] = true;
            found.push(Notice {
                spdx,
                from: at,
                to,
                rule: "gnu",
                files: Vec::new(),
            });
            at = to;
        } else {
            if is_offered(words, at) {
                bare.push((family, at, end.max(at + 1)));
            }
            at = end.max(at + 1);
        }
    }
    for (family, from, to) in bare {
        // "See the GNU General Public License for more details" follows a notice that has it all.
        if !versioned[family as usize] {
            versioned[family as usize] = true;
            found.push(Notice {
                spdx: family.any_version().to_owned(),
                from,
                to,
                rule: "gnu",
                files: Vec::new(),
            });
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    General,
    Lesser,
    Affero,
}

impl Family {
    fn spdx(self, version: &str, or_later: bool) -> String {
        let ending = if or_later { "or-later" } else { "only" };
        let version = match (self, version) {
            (Self::General, "1" | "1.0") => "GPL-1.0",
            (Self::General, "2" | "2.0") => "GPL-2.0",
            (Self::General, _) => "GPL-3.0",
            (Self::Lesser, "2" | "2.0") => "LGPL-2.0",
            (Self::Lesser, "2.1") => "LGPL-2.1",
            (Self::Lesser, _) => "LGPL-3.0",
            (Self::Affero, "1" | "1.0") => "AGPL-1.0",
            (Self::Affero, _) => "AGPL-3.0",
        };
        format!("{version}-{ending}")
    }

    fn any_version(self) -> &'static str {
        match self {
            Self::General => "GPL-1.0-or-later",
            Self::Lesser => "LGPL-2.0-or-later",
            Self::Affero => "AGPL-1.0-or-later",
        }
    }
}

/// A name of the family at this word, and where it ends. Abbreviations count beside "license" only.
fn family(words: &Words, at: usize) -> Option<(Family, usize)> {
    let mut next = at;
    if words.get(next) == "gnu" {
        next += 1;
    }
    let full = match words.get(next) {
        "lesser" | "library" => {
            next += 1;
            Family::Lesser
        }
        "affero" => {
            next += 1;
            Family::Affero
        }
        _ => Family::General,
    };
    if words.is_at(next, &["general", "public", "license"])
        || words.is_at(next, &["general", "public", "licenses"])
    {
        let mut end = next + 3;
        if matches!(words.get(end), "gpl" | "lgpl" | "agpl") {
            end += 1;
        }
        return Some((full, end));
    }
    let word = words.get(next);
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+'));
    let stem = stem.strip_suffix('v').unwrap_or(stem);
    let stem = stem.trim_end_matches('-');
    let family = match stem {
        "gpl" => Family::General,
        "lgpl" => Family::Lesser,
        "agpl" => Family::Affero,
        _ => return None,
    };
    let licensed = |word: &str| {
        matches!(
            word,
            "license" | "licensed" | "licenses" | "licensing" | "under"
        )
    };
    let beside = next > at
        || words.between(at.saturating_sub(5), at).any(licensed)
        || words.between(next + 1, next + 4).any(licensed);
    beside.then_some((family, if word == stem { next + 1 } else { next }))
}

/// The version that a name at `at..end` goes with: before it ("version 2 of the …"), in it
/// ("gplv2+") or behind it.
fn version(words: &Words, at: usize, end: usize) -> Option<(&'static str, bool, usize)> {
    // In the name itself: `end` is then the abbreviation's own place.
    let word = words.get(end);
    if let Some(number) = in_abbreviation(word) {
        let later = word.ends_with('+') || is_later(words, end + 1, 8);
        let to = end + 1;
        return Some((number, later, to));
    }
    for back in 2..=6 {
        let Some(place) = at.checked_sub(back) else {
            break;
        };
        if words.get(place) == "version"
            && let Some(number) = number(words.get(place + 1))
        {
            return Some((number, is_later(words, end, 25), end));
        }
    }
    let stop = (end + 26).min(words.len());
    let mut place = end;
    while place < stop {
        let word = words.get(place);
        if place > end + 1 && word == "gnu" {
            return None;
        }
        let (candidate, after) = match word {
            "version" | "versions" | "v" => (words.get(place + 1), place + 2),
            _ if place <= end + 1 => (word, place + 1),
            _ => ("", place + 1),
        };
        let plain = candidate.strip_prefix('v').unwrap_or(candidate);
        if let Some(number) = number(plain) {
            let later = plain.ends_with('+') || is_later(words, after, 14);
            let to = if later {
                (after + 8).min(words.len())
            } else {
                after
            };
            return Some((number, later, to));
        }
        place += 1;
    }
    None
}

fn in_abbreviation(word: &str) -> Option<&'static str> {
    let rest = ["agpl", "lgpl", "gpl"]
        .iter()
        .find_map(|stem| word.strip_prefix(stem))?;
    let rest = rest.trim_start_matches('-');
    number(rest.strip_prefix('v').unwrap_or(rest))
}

fn number(word: &str) -> Option<&'static str> {
    match word.trim_end_matches('+') {
        "1" | "1.0" => Some("1"),
        "2" | "2.0" => Some("2"),
        "2.1" => Some("2.1"),
        "3" | "3.0" => Some("3"),
        _ => None,
    }
}

/// "or (at your option) any later version", "or later", "or newer".
fn is_later(words: &Words, from: usize, within: usize) -> bool {
    (from..from + within).any(|at| {
        words.is_at(at, &["any", "later", "version"])
            || words.is_at(at, &["or", "later"])
            || words.is_at(at, &["or", "newer"])
            || words.is_at(at, &["or", "any", "later"])
            || words.is_at(at, &["or", "higher"])
            || words.is_at(at, &["and", "later"])
    })
}

/// Whether the words before offer something under what follows.
fn is_offered(words: &Words, at: usize) -> bool {
    words
        .between(at.saturating_sub(8), at)
        .any(|word| matches!(word, "under" | "licensed" | "license" | "terms" | "covered"))
}

/// "See the LICENSE file", "found in the file COPYING".
fn references(words: &Words, found: &mut Vec<Notice>) {
    for at in 0..words.len() {
        let Some(file) = license_file(words.get(at)) else {
            continue;
        };
        // The bare word is mostly a word: "the GNU General Public License for more details".
        let bare = matches!(words.get(at), "license" | "licenses" | "copyright");
        if bare
            && !matches!(
                words.get(at.wrapping_sub(1)),
                "the" | "see" | "file" | "in" | "its" | "our" | "accompanying"
            )
        {
            continue;
        }
        let before = at.saturating_sub(6);
        let told = |word: &str| matches!(word, "see" | "found" | "refer" | "read" | "per" | "file");
        let is_file = matches!(words.get(at + 1), "file" | "files")
            || words.get(at).contains('.')
            || matches!(words.get(at.wrapping_sub(1)), "file" | "see" | "in")
            || leads_on(words.get(at + 1), words.get(at + 2));
        if !(is_file && words.between(before, at).any(told)) {
            continue;
        }
        // A sentence about the license, not about its file: "see the license for the specific".
        if words.is_at(at + 1, &["for", "the", "specific"]) {
            continue;
        }
        let from = (before..at)
            .find(|place| told(words.get(*place)))
            .unwrap_or(at);
        found.push(Notice {
            spdx: facts::license::UNKNOWN_REFERENCE.to_owned(),
            from,
            to: at + 1,
            rule: "reference",
            files: vec![file],
        });
    }
}

/// "LICENSE in the …", "LICENSE for details", "LICENSE at the …".
fn leads_on(next: &str, after: &str) -> bool {
    match next {
        "in" | "at" => after == "the",
        "for" => matches!(
            after,
            "details" | "license" | "more" | "licensing" | "the" | "full" | "copyright"
        ),
        _ => false,
    }
}

/// The name of a file that holds a license, as the text has it in lower case.
fn license_file(word: &str) -> Option<String> {
    let stem = word
        .strip_suffix(".txt")
        .or_else(|| word.strip_suffix(".md"))
        .or_else(|| word.strip_suffix(".rst"))
        .unwrap_or(word);
    let known = ["license", "copying", "licenses", "copyright"]
        .iter()
        .any(|name| {
            stem == *name || (stem.starts_with(name) && stem[name.len()..].starts_with(['-', '.']))
        });
    // The bare word is a word; only an ending or the other name makes a file of it here.
    known.then(|| word.to_owned())
}

/// Words that name a license wherever they stand.
const PHRASES: &[(&str, &str)] = &[
    ("apache license version 2.0", "Apache-2.0"),
    ("apache license version 2", "Apache-2.0"),
    ("apache license v2.0", "Apache-2.0"),
    ("apache license v2", "Apache-2.0"),
    ("apache license v 2.0", "Apache-2.0"),
    ("apache license 2.0", "Apache-2.0"),
    ("apache software license version 2.0", "Apache-2.0"),
    ("apache software license 2.0", "Apache-2.0"),
    ("apache 2.0 license", "Apache-2.0"),
    ("apache 2.0 licensed", "Apache-2.0"),
    ("apache v2 license", "Apache-2.0"),
    ("apache v2.0 license", "Apache-2.0"),
    ("apache 2 license", "Apache-2.0"),
    ("apache-2.0 license", "Apache-2.0"),
    ("licensed under apache 2.0", "Apache-2.0"),
    ("licensed under apache-2.0", "Apache-2.0"),
    ("licensed under the apache-2.0", "Apache-2.0"),
    ("www.apache.org licenses license-2.0", "Apache-2.0"),
    ("opensource.org licenses apache-2.0", "Apache-2.0"),
    ("mit license", "MIT"),
    ("mit licensed", "MIT"),
    ("licensed under mit", "MIT"),
    ("licensed under the mit", "MIT"),
    ("released under mit", "MIT"),
    ("released under the mit", "MIT"),
    ("mit-licensed", "MIT"),
    ("mit-style license", "MIT"),
    ("mit style license", "MIT"),
    ("expat license", "MIT"),
    ("opensource.org licenses mit", "MIT"),
    ("opensource.org licenses mit-license.php", "MIT"),
    ("www.opensource.org licenses mit-license.php", "MIT"),
    ("bsd license", "BSD-3-Clause"),
    ("bsd licensed", "BSD-3-Clause"),
    ("licensed under bsd", "BSD-3-Clause"),
    ("bsd-style license", "BSD-3-Clause"),
    ("bsd style license", "BSD-3-Clause"),
    ("new bsd license", "BSD-3-Clause"),
    ("modified bsd license", "BSD-3-Clause"),
    ("revised bsd license", "BSD-3-Clause"),
    ("bsd 3-clause", "BSD-3-Clause"),
    ("bsd 3 clause", "BSD-3-Clause"),
    ("bsd-3-clause license", "BSD-3-Clause"),
    ("3-clause bsd", "BSD-3-Clause"),
    ("three-clause bsd", "BSD-3-Clause"),
    ("three clause bsd", "BSD-3-Clause"),
    ("opensource.org licenses bsd-3-clause", "BSD-3-Clause"),
    ("opensource.org licenses bsd-license.php", "BSD-3-Clause"),
    ("eclipse distribution license v 1.0", "BSD-3-Clause"),
    ("eclipse distribution license version 1.0", "BSD-3-Clause"),
    ("simplified bsd license", "BSD-2-Clause"),
    ("bsd 2-clause", "BSD-2-Clause"),
    ("bsd 2 clause", "BSD-2-Clause"),
    ("bsd-2-clause license", "BSD-2-Clause"),
    ("2-clause bsd", "BSD-2-Clause"),
    ("two-clause bsd", "BSD-2-Clause"),
    ("two clause bsd", "BSD-2-Clause"),
    ("freebsd license", "BSD-2-Clause"),
    ("isc license", "ISC"),
    ("isc licensed", "ISC"),
    ("zlib license", "Zlib"),
    ("zlib libpng license", "Zlib"),
    ("boost software license version 1.0", "BSL-1.0"),
    ("boost software license", "BSL-1.0"),
    ("boost.org license 1 0.txt", "BSL-1.0"),
    ("mozilla public license version 2.0", "MPL-2.0"),
    ("mozilla public license v 2.0", "MPL-2.0"),
    ("mozilla public license v2.0", "MPL-2.0"),
    ("mozilla public license 2.0", "MPL-2.0"),
    ("mpl 2.0 license", "MPL-2.0"),
    ("mpl-2.0 license", "MPL-2.0"),
    ("licensed under mpl 2.0", "MPL-2.0"),
    ("mozilla public license version 1.1", "MPL-1.1"),
    ("mozilla public license 1.1", "MPL-1.1"),
    ("eclipse public license v1.0", "EPL-1.0"),
    ("eclipse public license v 1.0", "EPL-1.0"),
    ("eclipse public license version 1.0", "EPL-1.0"),
    ("eclipse public license 1.0", "EPL-1.0"),
    ("eclipse public license v2.0", "EPL-2.0"),
    ("eclipse public license v 2.0", "EPL-2.0"),
    ("eclipse public license version 2.0", "EPL-2.0"),
    ("eclipse public license 2.0", "EPL-2.0"),
    (
        "common development and distribution license version 1.0",
        "CDDL-1.0",
    ),
    ("common development and distribution license", "CDDL-1.0"),
    (
        "creative commons attribution 4.0 international",
        "CC-BY-4.0",
    ),
    ("creative commons attribution 4.0", "CC-BY-4.0"),
    ("creative commons attribution 3.0", "CC-BY-3.0"),
    (
        "creative commons attribution-sharealike 4.0",
        "CC-BY-SA-4.0",
    ),
    (
        "creative commons attribution-sharealike 3.0",
        "CC-BY-SA-3.0",
    ),
    (
        "creative commons attribution share alike 4.0",
        "CC-BY-SA-4.0",
    ),
    ("creativecommons.org licenses by 4.0", "CC-BY-4.0"),
    ("creativecommons.org licenses by 3.0", "CC-BY-3.0"),
    ("creativecommons.org licenses by-sa 4.0", "CC-BY-SA-4.0"),
    ("creativecommons.org licenses by-sa 3.0", "CC-BY-SA-3.0"),
    ("creativecommons.org licenses by-nc 4.0", "CC-BY-NC-4.0"),
    (
        "creativecommons.org licenses by-nc-sa 4.0",
        "CC-BY-NC-SA-4.0",
    ),
    ("creativecommons.org publicdomain zero 1.0", "CC0-1.0"),
    ("cc0 1.0 universal", "CC0-1.0"),
    ("cc0 1.0", "CC0-1.0"),
    ("creative commons zero", "CC0-1.0"),
    ("creative commons cc0", "CC0-1.0"),
    ("artistic license 2.0", "Artistic-2.0"),
    (
        "same terms as perl itself",
        "GPL-1.0-or-later OR Artistic-1.0-Perl",
    ),
    (
        "same terms as the perl 5",
        "GPL-1.0-or-later OR Artistic-1.0-Perl",
    ),
    ("sil open font license version 1.1", "OFL-1.1"),
    ("sil open font license 1.1", "OFL-1.1"),
    ("sil open font license", "OFL-1.1"),
    ("microsoft public license", "MS-PL"),
    ("universal permissive license v 1.0", "UPL-1.0"),
    ("universal permissive license version 1.0", "UPL-1.0"),
    ("do what the fuck you want to public license", "WTFPL"),
    ("business source license 1.1", "BUSL-1.1"),
    ("elastic license 2.0", "Elastic-2.0"),
    ("server side public license v 1", "SSPL-1.0"),
    ("server side public license version 1", "SSPL-1.0"),
    ("european union public license version 1.2", "EUPL-1.2"),
    ("european union public license v 1.2", "EUPL-1.2"),
    ("python software foundation license version 2", "PSF-2.0"),
    ("php license version 3.01", "PHP-3.01"),
    ("version 3.01 of the php license", "PHP-3.01"),
    ("mulan psl v2", "MulanPSL-2.0"),
    ("unlicense.org", "Unlicense"),
    (
        "is in the public domain",
        "LicenseRef-scancode-public-domain",
    ),
    (
        "placed in the public domain",
        "LicenseRef-scancode-public-domain",
    ),
    (
        "released into the public domain",
        "LicenseRef-scancode-public-domain",
    ),
    (
        "dedicated to the public domain",
        "LicenseRef-scancode-public-domain",
    ),
];

#[cfg(test)]
mod tests;
