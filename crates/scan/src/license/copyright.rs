//! Copyright statements, who holds them, and who wrote the file.
//!
//! A statement begins with a mark ("Copyright", "(c)", "©") that years or a name follow, and ends
//! with the line unless it plainly goes on. Prose about copyright has the word and no name; templates
//! have a name in brackets. Neither is a statement.

use std::sync::LazyLock;

use facts::license::Line;
use regex::Regex;

/// Statements of one file.
const MOST: usize = 1_000;
/// Longer lines are data.
const LONGEST_LINE: usize = 2_000;
/// Longer statements are prose.
const LONGEST: usize = 400;

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) copyrights: Vec<Line>,
    pub(super) holders: Vec<Line>,
    pub(super) authors: Vec<Line>,
}

static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:©|\(c\)|&copy;|&#169;|\\u00a9|\bcopyright(?:ed|s)?\b|\bcopr\.|\bspdx-filecopyrighttext:)").ok()
});

static YEARS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:(?:19[6-9]|20[0-9])\d|[0-9]{2}|present|now|today|and)(?:s|,|-|–|—|/|\+)*$")
        .ok()
});

static AUTHOR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[\s*#/;%])(?:@author\b:?|authors?\s*:|(?:originally\s+)?written\s+by\b:?|(?:original\s+)?author\s+is\b)\s*(.{2,160})$").ok()
});

static MAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"<?\b[A-Za-z0-9._%+-]+(?:@| at |\[at\])[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b>?").ok()
});

static ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)[<(\[]?\b(?:https?://|www\.)[^\s>)\]]+[>)\]]?").ok());

static TAG: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]{0,200})?/?>").ok());

/// Reads a text.
pub(super) fn find(text: &str) -> Said {
    let mut said = Said::default();
    let lines: Vec<&str> = text.lines().collect();
    let mut skip = 0;
    for (number, line) in lines.iter().enumerate() {
        if said.copyrights.len() >= MOST || said.authors.len() >= MOST {
            break;
        }
        if line.len() > LONGEST_LINE {
            continue;
        }
        if number >= skip
            && let Some((statement, taken)) = statement(&lines, number)
        {
            let place = |value: String| Line {
                value,
                start_line: line_number(number),
                end_line: line_number(number + taken),
            };
            skip = number + taken + 1;
            if let Some(holder) = holder(&statement) {
                said.holders.push(place(holder));
            }
            said.copyrights.push(place(statement));
        } else if let Some(author) = author(line) {
            said.authors.push(Line {
                value: author,
                start_line: line_number(number),
                end_line: line_number(number),
            });
        }
    }
    said
}

fn line_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// The statement that begins in a line, and how many more lines it takes.
fn statement(lines: &[&str], at: usize) -> Option<(String, usize)> {
    let line = undressed(lines[at]);
    let mark = MARK.as_ref()?.find(&line)?;
    // `copyright = "2010 Pallets"` and `Copyright: 2010` as well.
    let from = widened(&line, mark.start());
    let mut text = line[from..].to_owned();
    let mut taken = 0;
    let unfinished = text.trim_end().ends_with([',', '-', '&']) || ends_with_and(&text);
    let nameless = words(&text)
        .iter()
        .all(|word| is_year(word) || is_mark(word));
    if (unfinished || nameless) && at + 1 < lines.len() {
        let next = undressed(lines[at + 1]);
        let next = next.trim();
        let fresh = MARK.as_ref()?.is_match(next);
        let starts_well = next
            .chars()
            .next()
            .is_some_and(|c| c.is_uppercase() || c.is_ascii_digit());
        if !next.is_empty() && !fresh && starts_well && next.len() < 100 && !is_sentence(next) {
            text.push(' ');
            text.push_str(next);
            taken = 1;
        }
    }
    let statement = tidy(&text)?;
    Some((statement, taken))
}

/// Where a statement begins that has its mark here: `(c) Copyright` begins with the first.
fn widened(line: &str, at: usize) -> usize {
    let before = line[..at].trim_end();
    for mark in ["(c)", "(C)", "©", "Copyright", "copyright"] {
        if before.ends_with(mark) {
            return before.len() - mark.len();
        }
    }
    at
}

/// A line without comment marks and markup.
fn undressed(line: &str) -> String {
    let line = line
        .replace("&copy;", "(c)")
        .replace("&#169;", "(c)")
        .replace("\\u00a9", "(c)");
    let line = match TAG.as_ref() {
        Some(tag) if line.contains('<') => tag.replace_all(&line, " ").into_owned(),
        _ => line,
    };
    let line = line.replace("*/", "").replace("-->", "");
    let is_dress = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '/' | '*'
                    | '#'
                    | ';'
                    | '%'
                    | '!'
                    | '|'
                    | '"'
                    | '\''
                    | '-'
                    | '~'
                    | '='
                    | '+'
                    | '{'
                    | '}'
            )
    };
    let line = line.trim_start_matches(|c: char| is_dress(c) || c == '>');
    line.trim_end_matches(is_dress).to_owned()
}

/// The statement in one spelling; none if it is not one.
fn tidy(text: &str) -> Option<String> {
    let text = text
        .replace("©", "(c)")
        .replace("(C)", "(c)")
        // The end of a quotation, not of a name.
        .replace("',", " ")
        .replace(['\u{a0}', '\t'], " ");
    let lower = text.to_lowercase();
    let cut = ENDS
        .iter()
        .filter_map(|end| lower.find(end))
        .filter(|at| text.is_char_boundary(*at))
        .min()
        .unwrap_or(text.len());
    let text = &text[..cut];
    let mut kept: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let word =
            word.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '*' | '=' | ':' | '\\'));
        let word = if word.eq_ignore_ascii_case("spdx-filecopyrighttext") {
            "Copyright"
        } else {
            word
        };
        if word.is_empty() || matches!(word, "-" | "|" | "--" | "/") {
            continue;
        }
        kept.push(word);
    }
    // A pair of marks beside each other is one too many only when they are the same.
    kept.dedup_by(|a, b| is_mark(a) && is_mark(b) && a.eq_ignore_ascii_case(b));
    let marks = kept.iter().take_while(|word| is_mark(word)).count();
    let rest = kept.get(marks..).unwrap_or_default();
    let text = kept.join(" ");
    let text = text.trim_end_matches([',', ';', '-', '(', ' ']).to_owned();
    if text.is_empty() || text.len() > LONGEST || marks == 0 || has_template(&text) {
        return None;
    }
    let text = text.strip_suffix(" by").map_or(text.clone(), str::to_owned);
    if !rest
        .first()
        .is_some_and(|word| is_year(word) || is_name(word) || is_by(word))
    {
        return None;
    }
    let years = rest.iter().filter(|word| is_year(word)).count();
    let first = rest.iter().find(|word| !is_year(word) && !is_by(word));
    let named = first.is_some_and(|word| is_name(word));
    if first.is_some_and(|word| is_prose(word)) {
        return None;
    }
    if years == 0 {
        // Without a year it takes a mark that is no word of prose, or a name right behind it.
        let strong = kept
            .iter()
            .take(marks)
            .any(|word| word.eq_ignore_ascii_case("copyright"));
        if !(named && strong && rest.len() <= 12) {
            return None;
        }
        if kept[..marks]
            .iter()
            .any(|word| word.eq_ignore_ascii_case("copyrighted"))
        {
            return None;
        }
    }
    if kept[..marks].iter().all(|word| *word == "(c)") && years == 0 {
        return None;
    }
    Some(text)
}

/// What follows these is no longer the statement.
const ENDS: &[&str] = &[
    "all rights reserved",
    "all right reserved",
    "licensed under",
    "license:",
    "released under",
    "distributed under",
    "published under",
    "permission is hereby",
    "permission to use",
    "this program is",
    "this file is",
    "this software is",
    "this work is",
    "see license",
    "see the license",
    "see copying",
    ". see ",
    ", see ",
    ". this ",
    "see accompanying",
    "redistribution and use",
    "permission is granted",
    "use of this source",
    "some rights reserved",
    "spdx-license-identifier",
];

fn has_template(text: &str) -> bool {
    let lower = text.to_lowercase();
    [
        "<year>",
        "[year]",
        "{year}",
        "yyyy",
        "[name of",
        "<name of",
        "<owner>",
        "[owner]",
        "<copyright holder",
        "[fullname]",
        "{{",
        "${",
        "%s",
        "{0}",
        "<holders>",
    ]
    .iter()
    .any(|mark| lower.contains(mark))
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn is_mark(word: &str) -> bool {
    let word = word.trim_end_matches([':', ',']);
    word.eq_ignore_ascii_case("copyright")
        || word.eq_ignore_ascii_case("(c)")
        || word.eq_ignore_ascii_case("copr.")
        || word.eq_ignore_ascii_case("copyrights")
        || word.eq_ignore_ascii_case("copyrighted")
}

fn is_year(word: &str) -> bool {
    let parts = word
        .split(['-', '–', '—', ',', '/'])
        .filter(|part| !part.is_empty());
    let mut any = false;
    for part in parts {
        let part = part.trim_matches(|c: char| matches!(c, '.' | '(' | ')' | ';' | ':' | '+'));
        let year = YEARS.as_ref().is_some_and(|years| years.is_match(part));
        if !year || part.eq_ignore_ascii_case("and") {
            return false;
        }
        any = true;
    }
    any
}

fn is_by(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "by" | "the" | "of" | "to")
}

/// A word that a holder's name may begin with.
fn is_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.chars()
        .next()
        .is_some_and(|c| c.is_uppercase() || c.is_numeric() || !c.is_ascii())
}

/// A word that makes prose of "copyright …".
fn is_prose(word: &str) -> bool {
    let word = word
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    matches!(
        word.as_str(),
        "notice"
            | "notices"
            | "holder"
            | "holders"
            | "owner"
            | "owners"
            | "law"
            | "laws"
            | "and"
            | "or"
            | "statement"
            | "statements"
            | "license"
            | "licenses"
            | "act"
            | "in"
            | "is"
            | "protection"
            | "information"
            | "header"
            | "headers"
            | "year"
            | "years"
            | "material"
            | "this"
            | "that"
            | "claim"
            | "claims"
            | "interest"
            | "infringement"
            | "for"
            | "line"
            | "lines"
            | "string"
            | "as"
            | "can"
            | "may"
            | "on"
            | "if"
            | "interests"
            | "dates"
            | "disclaimer"
            | "treaty"
            | "treaties"
            | "ownership"
            | "permission"
            | "grant"
            | "attribution"
            | "assignment"
            | "file"
            | "text"
            | "status"
            | "symbol"
            | "which"
    )
}

fn is_sentence(text: &str) -> bool {
    let lower = text.to_lowercase();
    [
        "license",
        "permission",
        "redistribut",
        "this ",
        "warranty",
        "import ",
        "def ",
        "class ",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

fn ends_with_and(text: &str) -> bool {
    text.trim_end().ends_with(" and")
}

/// The name in a statement: without marks, years, addresses.
fn holder(statement: &str) -> Option<String> {
    let text = match MAIL.as_ref() {
        Some(mail) => mail.replace_all(statement, " ").into_owned(),
        None => statement.to_owned(),
    };
    let text = match ADDRESS.as_ref() {
        Some(address) => address.replace_all(&text, " ").into_owned(),
        None => text,
    };
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let begins = words.iter().position(|word| {
        !(is_mark(word)
            || is_year(word)
            || word.eq_ignore_ascii_case("by")
            || matches!(*word, "," | "-" | "and" | "present" | "&"))
    })?;
    words.drain(..begins);
    // Years may also follow the name.
    while words.last().is_some_and(|word| {
        is_year(word)
            || is_mark(word)
            || matches!(*word, "," | "-" | "()" | "<>" | "and" | "by" | "(" | ")")
    }) {
        words.pop();
    }
    let words: Vec<&str> = words
        .into_iter()
        .filter(|word| !matches!(*word, "<>" | "()" | ">" | "<"))
        .collect();
    let text = words.join(" ");
    let text = text
        .trim_matches(|c: char| matches!(c, ',' | ';' | '-' | ' ' | '"' | '\'' | '<' | '>' | ':'));
    let text = if has_short_ending(text) {
        text
    } else {
        text.trim_end_matches('.')
    };
    let text = text.trim_end_matches([',', ' ']);
    // A name has a capital somewhere, or letters that have none.
    let named = text.chars().any(|c| c.is_uppercase() || !c.is_ascii());
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let sound = named && letters >= 2 && text.len() <= 200;
    sound.then(|| text.to_owned())
}

/// `Corp.` ends with a dot of its own.
fn has_short_ending(text: &str) -> bool {
    let last = text.rsplit(' ').next().unwrap_or_default().to_lowercase();
    matches!(
        last.as_str(),
        "inc."
            | "corp."
            | "ltd."
            | "co."
            | "llc."
            | "jr."
            | "sr."
            | "s.a."
            | "s.r.l."
            | "b.v."
            | "e.v."
            | "gmbh."
            | "al."
    ) || (last.len() == 2 && last.ends_with('.'))
}

/// `@author Jane Doe <jane@example.org>`.
fn author(line: &str) -> Option<String> {
    if line.len() > 300 {
        return None;
    }
    let found = AUTHOR.as_ref()?.captures(line)?;
    let text = found.get(1)?.as_str().trim();
    let text = text.trim_end_matches("*/").trim();
    let text = text.trim_matches(|c: char| {
        matches!(
            c,
            '"' | '\'' | ',' | ';' | '*' | '#' | ' ' | '[' | ']' | '.'
        )
    });
    let first = text.split_whitespace().next()?;
    let sound = is_name(first) && text.len() <= 120 && !has_template(text) && !is_sentence(text);
    sound.then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
