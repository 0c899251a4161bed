//! What is written for machines: SPDX tags, and lines that begin with "License:".

use std::sync::LazyLock;

use regex::Regex;

use super::expression;

/// A license that a line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) spdx: String,
    /// Counted from 1.
    pub(super) line: u32,
    pub(super) rule: &'static str,
}

/// Tags of one file.
const MOST_TAGS: usize = 200;
/// What follows on a line.
const MOST_BYTES: usize = 400;

static SPDX: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\bSPDX-License-Identifier\s*:\s*([^\r\n]{1,400})").ok());

static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)^[\s/*#;%!.@'"<>{(\-]*(?:licen[sc]e|license-expression|licensed)["']?\s*(?:[:=]+>?|\s)\s*["'(\[]*([A-Za-z0-9][^\r\n]{0,120})$"#).ok()
});

/// All tags, by line.
pub(super) fn find(text: &str) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut heading: Option<u32> = None;
    for (number, line) in text.lines().enumerate() {
        if found.len() >= MOST_TAGS {
            break;
        }
        let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        if let Some(spdx) = spdx_tag(line) {
            found.push(Tag {
                spdx,
                line: number,
                rule: "spdx-tag",
            });
            continue;
        }
        if line.len() <= MOST_BYTES
            && let Some(spdx) = field(line)
        {
            found.push(Tag {
                spdx,
                line: number,
                rule: "license-field",
            });
            heading = None;
            continue;
        }
        let words = plain(line);
        if matches!(words.as_str(), "license" | "licence" | "licensing") {
            heading = Some(number);
        } else if let Some(at) = heading
            && !words.is_empty()
            && number - at <= 4
        {
            heading = None;
            if line.len() <= MOST_BYTES
                && let Some(spdx) = alone(line)
            {
                found.push(Tag {
                    spdx,
                    line: number,
                    rule: "license-heading",
                });
            }
        }
    }
    found
}

/// `SPDX-License-Identifier: MIT */`: what stands behind the expression goes.
fn spdx_tag(line: &str) -> Option<String> {
    let found = SPDX.as_ref()?.captures(line)?;
    let text = found.get(1)?.as_str();
    let end = ["*/", "-->", "#}", "%>", "\"", "'", "`", "<", "\\n"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .unwrap_or(text.len());
    let words: Vec<&str> = text[..end].split_whitespace().collect();
    // The longest beginning that is an expression: a remark may follow.
    (1..=words.len().min(24)).rev().find_map(|count| {
        let text = words[..count].join(" ");
        let text = text.trim_end_matches([',', ';', '.', '*', '/', '-', '"']);
        expression::normalise(text)
    })
}

/// `License: MIT`, `@license Apache-2.0`, `license = "BSD"`.
fn field(line: &str) -> Option<String> {
    // Most lines have no such word.
    memchr::memmem::find(line.as_bytes(), b"icen")?;
    let found = FIELD.as_ref()?.captures(line)?;
    let whole = found.get(0)?.as_str();
    let value = found.get(1)?.as_str();
    let marked = whole[..whole.len() - value.len()].contains([':', '=', '@']);
    let value = value
        .trim_end()
        .trim_end_matches("*/")
        .trim_end_matches(|c: char| {
            matches!(
                c,
                ' ' | '\t' | '"' | '\'' | ',' | ';' | ')' | ']' | '.' | '}'
            )
        });
    if !marked || value.is_empty() {
        return None;
    }
    expression::of_name(value)
}

/// A line that is nothing but a license's name, perhaps as a link.
fn alone(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches(['*', '-', '>', '#', ' ']);
    let line = match (line.strip_prefix('['), line.find(']')) {
        (Some(_), Some(end)) => &line[1..end],
        _ => line,
    };
    let line = line.trim_matches(|c: char| matches!(c, '*' | '_' | '`' | '.' | ' ' | '©'));
    expression::of_name(line)
}

fn plain(line: &str) -> String {
    line.trim()
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spdx(text: &str) -> Vec<String> {
        find(text).into_iter().map(|one| one.spdx).collect()
    }

    #[test]
    fn tags_are_read_in_any_comment() {
        for (text, expected) in [
            ("// SPDX-License-Identifier: MIT", "MIT"),
            (
                "/* SPDX-License-Identifier: GPL-2.0+ */",
                "GPL-2.0-or-later",
            ),
            (
                "<!-- SPDX-License-Identifier: (MIT OR Apache-2.0) -->",
                "MIT OR Apache-2.0",
            ),
            (
                "# SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note",
                "GPL-2.0-only WITH Linux-syscall-note",
            ),
            (
                "# SPDX-License-Identifier: Apache-2.0, see the file",
                "Apache-2.0",
            ),
            (" * @license MIT", "MIT"),
            ("License: BSD", "BSD-3-Clause"),
            ("license = \"Apache-2.0\"", "Apache-2.0"),
            ("License\n=======\n\nMIT\n", "MIT"),
            ("## License\n\n[MIT](LICENSE)\n", "MIT"),
        ] {
            assert_eq!(spdx(text), [expected], "{text}");
        }
    }

    #[test]
    fn prose_is_none() {
        for text in [
            "license to kill",
            "SPDX-License-Identifier:",
            "the license of this is unclear",
            "License\n\nThis is a long text about what you may do and what not, in many words.",
        ] {
            assert!(spdx(text).is_empty(), "{text}");
        }
    }
}
