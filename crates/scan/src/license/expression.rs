//! License expressions: read leniently, written in one way.

use std::{collections::HashMap, sync::LazyLock};

use facts::license::UNKNOWN_REFERENCE;

/// The longest text that is read as an expression.
const MOST_BYTES: usize = 2_000;

/// An SPDX expression as it should be written: identifiers in their own case, operators in
/// capitals, parentheses only where they change the meaning. None if it is no expression.
pub fn normalise(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > MOST_BYTES {
        return None;
    }
    let mut parser = Parser {
        words: split(text),
        at: 0,
        depth: 0,
    };
    let node = parser.any()?;
    (parser.at == parser.words.len()).then(|| node.write())
}

/// One expression that says all of these, in their order, each once.
pub fn all_of<'a>(expressions: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let add = |parts: &mut Vec<String>, part: String| {
        if !parts.contains(&part) {
            parts.push(part);
        }
    };
    for expression in expressions {
        match normalise_node(expression) {
            Some(Node::All(inner)) => {
                for one in inner {
                    add(&mut parts, one.within(true));
                }
            }
            Some(one) => add(&mut parts, one.within(true)),
            None => add(&mut parts, expression.to_owned()),
        }
    }
    match parts.len() {
        0 => None,
        // Alone it needs none.
        1 => {
            let one = parts.remove(0);
            Some(normalise(&one).unwrap_or(one))
        }
        _ => Some(parts.join(" AND ")),
    }
}

/// The identifiers of an expression, each once, exceptions left out.
pub fn identifiers(expression: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut words = split(expression).into_iter();
    while let Some(word) = words.next() {
        match word.to_ascii_uppercase().as_str() {
            "AND" | "OR" | "(" | ")" => {}
            "WITH" => {
                words.next();
            }
            _ => {
                let id = identifier(&word).unwrap_or(word);
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        }
    }
    found
}

/// Whether the Open Source Initiative approves of a license.
pub fn is_osi_approved(id: &str) -> bool {
    let plain = id.split_once(" WITH ").map_or(id, |(license, _)| license);
    spdx::license_id(plain).is_some_and(spdx::LicenseId::is_osi_approved)
}

/// The expression of what people write in a license field: an expression, a name, a nickname.
pub fn of_name(text: &str) -> Option<String> {
    let text = text
        .trim()
        .trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | ',' | ';' | '<' | '>'))
        .trim();
    if text.is_empty() || text.len() > MOST_BYTES {
        return None;
    }
    if let Some(found) = known_only(text) {
        return Some(found);
    }
    if let Some(found) = of_nickname(text) {
        return Some(found);
    }
    // `MIT/Apache-2.0`, `MIT | Apache-2.0` and `MIT or BSD` mean a choice, `A, B` and `A & B` both.
    for (marks, operator) in [
        (&["/", "||", "|", " or ", " OR "][..], "OR"),
        (&[",", "&", ";", " and ", " AND "][..], "AND"),
    ] {
        for mark in marks {
            let parts: Vec<&str> = text.split(mark).collect();
            if (2..=6).contains(&parts.len()) {
                let read: Option<Vec<String>> = parts
                    .iter()
                    .map(|part| known_only(part.trim()).or_else(|| of_nickname(part)))
                    .collect();
                if let Some(read) = read {
                    return normalise(&read.join(&format!(" {operator} ")));
                }
            }
        }
    }
    None
}

/// The scanner's own key of an expression: lower-case names as ScanCode has them.
pub fn keys(spdx: &str) -> String {
    let mut text = String::new();
    for word in split(spdx) {
        let key = match word.as_str() {
            "AND" | "OR" | "WITH" | "(" | ")" => word.clone(),
            other => key(other),
        };
        let glued = text.is_empty() || text.ends_with('(') || key == ")";
        if !glued {
            text.push(' ');
        }
        text.push_str(&key);
    }
    text
}

fn key(id: &str) -> String {
    for (spdx, key) in KEYS {
        if *spdx == id {
            return (*key).to_owned();
        }
    }
    let lower = id.to_ascii_lowercase();
    let lower = lower.strip_prefix("licenseref-scancode-").unwrap_or(&lower);
    if let Some(plain) = lower.strip_suffix("-or-later") {
        return format!("{plain}-plus");
    }
    lower.strip_suffix("-only").unwrap_or(lower).to_owned()
}

/// Where the two lists differ.
const KEYS: &[(&str, &str)] = &[
    ("0BSD", "bsd-zero"),
    ("BSD-2-Clause", "bsd-simplified"),
    ("BSD-3-Clause", "bsd-new"),
    ("BSD-4-Clause", "bsd-original"),
    ("BSD-4-Clause-UC", "bsd-original-uc"),
    ("BSL-1.0", "boost-1.0"),
    ("Python-2.0", "python"),
    ("OFL-1.1", "ofl-1.1"),
    ("NCSA", "uoi-ncsa"),
    ("X11", "x11"),
    ("Artistic-1.0-Perl", "artistic-perl-1.0"),
];

/// An expression all of whose identifiers are on the list (or are references).
fn known_only(text: &str) -> Option<String> {
    let normal = normalise(text)?;
    let sound = identifiers(&normal)
        .iter()
        .all(|id| id.starts_with("LicenseRef-") || spdx::license_id(id).is_some());
    sound.then_some(normal)
}

fn of_nickname(text: &str) -> Option<String> {
    let words = plain(text);
    let words = words.as_str();
    if let Some((_, id)) = NICKNAMES.iter().find(|(name, _)| *name == words) {
        return Some((*id).to_owned());
    }
    if let Some(id) = FULL_NAMES.get(words) {
        return Some((*id).to_owned());
    }
    let shorter = words.strip_prefix("the ").unwrap_or(words);
    let shorter = shorter
        .strip_suffix(" license")
        .or_else(|| shorter.strip_suffix(" licensed"))
        .unwrap_or(shorter);
    if shorter == words {
        return None;
    }
    NICKNAMES
        .iter()
        .find(|(name, _)| *name == shorter)
        .map(|(_, id)| (*id).to_owned())
        .or_else(|| FULL_NAMES.get(shorter).map(|id| (*id).to_owned()))
        .or_else(|| known_only(shorter))
}

/// Lower-case words with one space between two.
fn plain(text: &str) -> String {
    let mut words = Vec::new();
    let parts = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '+' | '-')));
    for part in parts.filter(|part| !part.is_empty()) {
        let part = part.to_lowercase();
        words.push(match part.as_str() {
            "licence" => "license".to_owned(),
            "v." => "v".to_owned(),
            _ => part.trim_end_matches('.').to_owned(),
        });
    }
    words.join(" ")
}

/// What the list calls its licenses, in plain words.
static FULL_NAMES: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for license in spdx::identifiers::LICENSES {
        let current = spdx::license_id(license.name).is_some_and(|id| !id.is_deprecated());
        if current {
            names
                .entry(plain(license.full_name))
                .or_insert(license.name);
        }
    }
    names
});

/// What people write, in plain words.
const NICKNAMES: &[(&str, &str)] = &[
    ("apache", "Apache-2.0"),
    ("apache 2", "Apache-2.0"),
    ("apache-2", "Apache-2.0"),
    ("apache2", "Apache-2.0"),
    ("apache2.0", "Apache-2.0"),
    ("apache 2.0", "Apache-2.0"),
    ("apache v2", "Apache-2.0"),
    ("apache v2.0", "Apache-2.0"),
    ("apache license", "Apache-2.0"),
    ("apache license 2.0", "Apache-2.0"),
    ("apache license version 2.0", "Apache-2.0"),
    ("apache license v2.0", "Apache-2.0"),
    ("apache license v 2.0", "Apache-2.0"),
    ("apache license version 2", "Apache-2.0"),
    ("apache software license", "Apache-2.0"),
    ("apache software license 2.0", "Apache-2.0"),
    ("apache software license version 2.0", "Apache-2.0"),
    ("asl 2.0", "Apache-2.0"),
    ("asl-2.0", "Apache-2.0"),
    ("mit", "MIT"),
    ("expat", "MIT"),
    ("mit license", "MIT"),
    ("mit x11", "MIT"),
    ("mit expat", "MIT"),
    ("mit-license", "MIT"),
    ("bsd", "BSD-3-Clause"),
    ("bsd license", "BSD-3-Clause"),
    ("new bsd", "BSD-3-Clause"),
    ("new bsd license", "BSD-3-Clause"),
    ("modified bsd", "BSD-3-Clause"),
    ("bsd-3", "BSD-3-Clause"),
    ("bsd 3-clause", "BSD-3-Clause"),
    ("bsd 3 clause", "BSD-3-Clause"),
    ("3-clause bsd", "BSD-3-Clause"),
    ("3-clause bsd license", "BSD-3-Clause"),
    ("bsd three clause", "BSD-3-Clause"),
    ("bsd-style", "BSD-3-Clause"),
    ("simplified bsd", "BSD-2-Clause"),
    ("bsd-2", "BSD-2-Clause"),
    ("bsd 2-clause", "BSD-2-Clause"),
    ("bsd 2 clause", "BSD-2-Clause"),
    ("2-clause bsd", "BSD-2-Clause"),
    ("freebsd", "BSD-2-Clause"),
    ("gpl", "GPL-1.0-or-later"),
    ("gnu gpl", "GPL-1.0-or-later"),
    ("gnu general public license", "GPL-1.0-or-later"),
    ("gnu general public license gpl", "GPL-1.0-or-later"),
    ("gpl2", "GPL-2.0-only"),
    ("gpl-2", "GPL-2.0-only"),
    ("gpl 2", "GPL-2.0-only"),
    ("gplv2", "GPL-2.0-only"),
    ("gpl v2", "GPL-2.0-only"),
    ("gpl 2.0", "GPL-2.0-only"),
    ("gplv2+", "GPL-2.0-or-later"),
    ("gpl-2+", "GPL-2.0-or-later"),
    ("gpl2+", "GPL-2.0-or-later"),
    ("gpl 2+", "GPL-2.0-or-later"),
    ("gnu gpl v2", "GPL-2.0-only"),
    ("gnu general public license v2", "GPL-2.0-only"),
    ("gnu general public license v2 gplv2", "GPL-2.0-only"),
    (
        "gnu general public license v2 or later gplv2+",
        "GPL-2.0-or-later",
    ),
    ("gpl3", "GPL-3.0-only"),
    ("gpl-3", "GPL-3.0-only"),
    ("gpl 3", "GPL-3.0-only"),
    ("gplv3", "GPL-3.0-only"),
    ("gpl v3", "GPL-3.0-only"),
    ("gpl 3.0", "GPL-3.0-only"),
    ("gplv3+", "GPL-3.0-or-later"),
    ("gpl-3+", "GPL-3.0-or-later"),
    ("gpl3+", "GPL-3.0-or-later"),
    ("gpl 3+", "GPL-3.0-or-later"),
    ("gnu gpl v3", "GPL-3.0-only"),
    ("gnu general public license v3", "GPL-3.0-only"),
    ("gnu general public license v3 gplv3", "GPL-3.0-only"),
    (
        "gnu general public license v3 or later gplv3+",
        "GPL-3.0-or-later",
    ),
    ("lgpl", "LGPL-2.0-or-later"),
    ("gnu lgpl", "LGPL-2.0-or-later"),
    ("gnu lesser general public license", "LGPL-2.0-or-later"),
    (
        "gnu library or lesser general public license lgpl",
        "LGPL-2.0-or-later",
    ),
    ("lgplv2", "LGPL-2.0-only"),
    ("lgplv2+", "LGPL-2.0-or-later"),
    (
        "gnu lesser general public license v2 lgplv2",
        "LGPL-2.0-only",
    ),
    (
        "gnu lesser general public license v2 or later lgplv2+",
        "LGPL-2.0-or-later",
    ),
    ("lgpl-2.1", "LGPL-2.1-only"),
    ("lgpl 2.1", "LGPL-2.1-only"),
    ("lgplv2.1", "LGPL-2.1-only"),
    ("lgpl-2.1+", "LGPL-2.1-or-later"),
    ("lgplv2.1+", "LGPL-2.1-or-later"),
    ("lgplv3", "LGPL-3.0-only"),
    ("lgpl-3", "LGPL-3.0-only"),
    ("lgpl v3", "LGPL-3.0-only"),
    ("lgplv3+", "LGPL-3.0-or-later"),
    ("lgpl-3+", "LGPL-3.0-or-later"),
    (
        "gnu lesser general public license v3 lgplv3",
        "LGPL-3.0-only",
    ),
    (
        "gnu lesser general public license v3 or later lgplv3+",
        "LGPL-3.0-or-later",
    ),
    ("agpl", "AGPL-3.0-only"),
    ("agplv3", "AGPL-3.0-only"),
    ("agpl-3", "AGPL-3.0-only"),
    ("agpl v3", "AGPL-3.0-only"),
    ("agplv3+", "AGPL-3.0-or-later"),
    ("gnu affero general public license v3", "AGPL-3.0-only"),
    (
        "gnu affero general public license v3 or later agplv3+",
        "AGPL-3.0-or-later",
    ),
    ("mpl", "MPL-2.0"),
    ("mpl 2.0", "MPL-2.0"),
    ("mpl-2", "MPL-2.0"),
    ("mpl2", "MPL-2.0"),
    ("mplv2", "MPL-2.0"),
    ("mozilla public license 2.0", "MPL-2.0"),
    ("mozilla public license 2.0 mpl 2.0", "MPL-2.0"),
    ("mozilla public license version 2.0", "MPL-2.0"),
    ("mozilla public license 1.1 mpl 1.1", "MPL-1.1"),
    ("epl", "EPL-1.0"),
    ("epl 1.0", "EPL-1.0"),
    ("epl 2.0", "EPL-2.0"),
    ("eclipse public license", "EPL-1.0"),
    ("eclipse public license 1.0", "EPL-1.0"),
    ("eclipse public license v1.0", "EPL-1.0"),
    ("eclipse public license version 1.0", "EPL-1.0"),
    ("eclipse public license 2.0", "EPL-2.0"),
    ("eclipse public license v2.0", "EPL-2.0"),
    ("eclipse public license version 2.0", "EPL-2.0"),
    ("isc", "ISC"),
    ("isc license iscl", "ISC"),
    ("boost", "BSL-1.0"),
    ("boost software license", "BSL-1.0"),
    ("boost software license 1.0 bsl-1.0", "BSL-1.0"),
    ("zlib", "Zlib"),
    ("zlib libpng", "Zlib"),
    ("unlicense", "Unlicense"),
    ("the unlicense unlicense", "Unlicense"),
    ("wtfpl", "WTFPL"),
    ("cc0", "CC0-1.0"),
    ("cc0 1.0", "CC0-1.0"),
    ("cc0 1.0 universal", "CC0-1.0"),
    (
        "cc0 1.0 universal cc0 1.0 public domain dedication",
        "CC0-1.0",
    ),
    ("cc-by 4.0", "CC-BY-4.0"),
    ("cc by 4.0", "CC-BY-4.0"),
    ("cc by-sa 4.0", "CC-BY-SA-4.0"),
    ("cc-by-sa 4.0", "CC-BY-SA-4.0"),
    ("psf", "PSF-2.0"),
    ("psfl", "PSF-2.0"),
    ("python software foundation license", "PSF-2.0"),
    ("public domain", "LicenseRef-scancode-public-domain"),
    ("academic free license afl", "AFL-3.0"),
    ("artistic", "Artistic-1.0"),
    ("artistic 2", "Artistic-2.0"),
    ("perl 5", "GPL-1.0-or-later OR Artistic-1.0-Perl"),
    ("ruby", "Ruby"),
    ("blue oak model license 1.0.0", "BlueOak-1.0.0"),
    ("proprietary", "LicenseRef-scancode-proprietary-license"),
    ("unlicensed", "LicenseRef-scancode-unlicense"),
];

fn normalise_node(text: &str) -> Option<Node> {
    let mut parser = Parser {
        words: split(text),
        at: 0,
        depth: 0,
    };
    let node = parser.any()?;
    (parser.at == parser.words.len()).then_some(node)
}

/// Words and parentheses.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_whitespace() || c == '(' || c == ')' {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if !c.is_whitespace() {
                words.push(c.to_string());
            }
        } else {
            word.push(c);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// An identifier in its own spelling. References and identifiers that look sound but are on no
/// list are taken as they stand.
fn identifier(word: &str) -> Option<String> {
    if word.starts_with("LicenseRef-") || word.starts_with("DocumentRef-") {
        return Some(word.to_owned());
    }
    let (plain, later) = match word.strip_suffix('+') {
        Some(plain) => (plain, true),
        None => (word, false),
    };
    let id = spdx::license_id(plain).or_else(|| {
        let all = spdx::identifiers::LICENSES.iter();
        let mut same = all.filter(|known| known.name.eq_ignore_ascii_case(plain));
        same.next().and_then(|known| spdx::license_id(known.name))
    })?;
    let name = id.name;
    // The list has given up the bare names of the GNU licenses.
    let gnu = [
        "GPL-1.0", "GPL-2.0", "GPL-3.0", "LGPL-2.0", "LGPL-2.1", "LGPL-3.0", "AGPL-1.0", "AGPL-3.0",
    ];
    if gnu.contains(&name) {
        let ending = if later { "-or-later" } else { "-only" };
        return Some(format!("{name}{ending}"));
    }
    Some(if later {
        format!("{name}+")
    } else {
        name.to_owned()
    })
}

enum Node {
    One(String),
    All(Vec<Node>),
    Any(Vec<Node>),
}

impl Node {
    fn write(&self) -> String {
        match self {
            Self::One(text) => text.clone(),
            Self::All(inner) => Self::join(inner, " AND ", true),
            Self::Any(inner) => Self::join(inner, " OR ", false),
        }
    }

    fn join(inner: &[Self], operator: &str, all: bool) -> String {
        let written: Vec<String> = inner.iter().map(|one| one.within(all)).collect();
        written.join(operator)
    }

    /// As an operand of AND (`all`) or OR.
    fn within(&self, all: bool) -> String {
        match self {
            Self::Any(_) if all => format!("({})", self.write()),
            Self::All(_) if !all => format!("({})", self.write()),
            _ => self.write(),
        }
    }
}

struct Parser {
    words: Vec<String>,
    at: usize,
    depth: usize,
}

impl Parser {
    /// `a OR b`; OR binds less than AND.
    fn any(&mut self) -> Option<Node> {
        self.list("OR", Self::all, Node::Any)
    }

    fn all(&mut self) -> Option<Node> {
        self.list("AND", Self::one, Node::All)
    }

    fn list(
        &mut self,
        operator: &str,
        part: fn(&mut Self) -> Option<Node>,
        whole: fn(Vec<Node>) -> Node,
    ) -> Option<Node> {
        let mut parts: Vec<Node> = Vec::new();
        loop {
            match part(self)? {
                // `(a AND b) AND c` is flat.
                Node::All(inner) if operator == "AND" => parts.extend(inner),
                Node::Any(inner) if operator == "OR" => parts.extend(inner),
                other => parts.push(other),
            }
            if !self.take(operator) {
                break;
            }
        }
        let mut seen = Vec::new();
        parts.retain(|part| {
            let text = part.write();
            let new = !seen.contains(&text);
            seen.push(text);
            new
        });
        if parts.len() == 1 {
            return parts.pop();
        }
        Some(whole(parts))
    }

    fn one(&mut self) -> Option<Node> {
        if self.take("(") {
            self.depth += 1;
            if self.depth > 30 {
                return None;
            }
            let inner = self.any()?;
            self.depth -= 1;
            return self.take(")").then_some(inner);
        }
        let word = self.words.get(self.at)?.clone();
        if matches!(
            word.to_ascii_uppercase().as_str(),
            "AND" | "OR" | "WITH" | ")"
        ) {
            return None;
        }
        self.at += 1;
        let mut text = identifier(&word)?;
        if self.take("WITH") {
            let exception = self.words.get(self.at)?.clone();
            self.at += 1;
            let known = spdx::exception_id(&exception).map(|id| id.name.to_owned());
            let known = known.or_else(|| {
                let sound = exception.starts_with("LicenseRef-") || exception.contains("exception");
                sound.then_some(exception)
            })?;
            text = format!("{text} WITH {known}");
        }
        Some(Node::One(text))
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self
            .words
            .get(self.at)
            .is_some_and(|one| one.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }
}

/// Whether an expression only says that the license stands elsewhere.
pub fn is_reference(expression: &str) -> bool {
    expression == UNKNOWN_REFERENCE
}

#[cfg(test)]
mod tests;
