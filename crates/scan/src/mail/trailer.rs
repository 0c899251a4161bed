//! Trailers: `Reviewed-by: Name <address>` and their family, said by the sender and not quoted.
//!
//! A trailer is a fact of its own, apart from the class of the message: most reviews carry none.
//! Only text that the sender wrote counts; below `-- `, in quotes and in diffs there are none, and
//! in a submission the commit message ends at `---`. A wrapped `Name` + `<address>` is joined, a
//! `# comment` and a following `[note]` are kept apart.

use serde::Serialize;

use super::address;
use super::patch::{HunkTracker, lines};
use super::quote::{Kind, Span};

/// A message with more is no message of a person.
const MAX_TRAILERS: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trailer {
    /// As written but in the usual case: `Reviewed-by`.
    pub name: String,
    pub value: String,
    /// The address in the value, lower case.
    pub email: Option<String>,
    /// `# comment` or the `[note]` line below.
    pub note: Option<String>,
}

/// The trailers that the sender of this body gives.
pub fn read(body: &str, spans: &[Span]) -> Vec<Trailer> {
    let mut trailers: Vec<Trailer> = Vec::new();
    for span in spans.iter().filter(|span| span.kind == Kind::New) {
        let text = body.get(span.range.clone()).unwrap_or_default();
        if memchr::memchr(b':', text.as_bytes()).is_none() {
            continue;
        }
        let mut hunks = HunkTracker::default();
        let mut lines = lines(text).peekable();
        while let Some(line) = lines.next() {
            // A reviewer may draw a line as well; it ends a commit message only above a patch.
            let ends = (line == "---" && (text.contains("\n+++ ") || text.contains("diff --git ")))
                || line.starts_with("diff --git ");
            if ends || hunks.step(line) {
                return trailers;
            }
            let Some((name, value)) = split_line(line) else {
                continue;
            };
            let mut value = value.to_owned();
            // The mailer broke the line before the address.
            if !value.contains('@')
                && let Some(next) = lines.peek().map(|next| next.trim())
                && next.starts_with('<')
                && next.ends_with('>')
            {
                value.push(' ');
                value.push_str(next);
                lines.next();
            }
            let mut note = None;
            if !is_link(name)
                && let Some((head, comment)) = value.split_once(" # ")
            {
                note = Some(comment.trim().to_owned());
                value.truncate(head.trim_end().len());
            }
            if let Some(next) = lines.peek().map(|next| next.trim())
                && next.starts_with('[')
                && next.ends_with(']')
            {
                note = Some(next.to_owned());
                lines.next();
            }
            let email = find_email(&value);
            if (email.is_some() || takes_no_address(name)) && trailers.len() < MAX_TRAILERS {
                trailers.push(Trailer {
                    name: usual_case(name),
                    value,
                    email,
                    note,
                });
            }
        }
    }
    trailers
}

/// `Name-of-trailer: value`, with the name one word of letters and dashes.
fn split_line(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once(':')?;
    let value = value.strip_prefix([' ', '\t'])?.trim();
    let known = is_person(name) || takes_no_address(name);
    (known && !value.is_empty()).then_some((name, value))
}

/// `Something-by`, `Cc` and the few other names that point at people.
fn is_person(name: &str) -> bool {
    let word = name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !word {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    lower.ends_with("-by")
        || matches!(
            lower.as_str(),
            "cc" | "co-authored-by" | "thanks-to" | "obtained-from"
        )
}

fn takes_no_address(name: &str) -> bool {
    is_link(name)
        || [
            "fixes",
            "change-id",
            "base-commit",
            "message-id",
            "in-reply-to-change",
            "bug",
            "issue",
            "pr",
        ]
        .contains(&name.to_ascii_lowercase().as_str())
}

fn is_link(name: &str) -> bool {
    [
        "link",
        "closes",
        "bugzilla",
        "buglink",
        "patchwork",
        "references",
        "see-also",
    ]
    .contains(&name.to_ascii_lowercase().as_str())
}

fn find_email(value: &str) -> Option<String> {
    let inner = match (value.rfind('<'), value.rfind('>')) {
        (Some(open), Some(close)) if open < close => &value[open + 1..close],
        _ => value.split_whitespace().find(|word| word.contains('@'))?,
    };
    address::clean_email(inner.trim_matches(['(', ')']))
}

/// `REVIEWED-BY` and `Reviewed-By` are one trailer.
fn usual_case(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let mut chars = lower.chars();
    match chars.next() {
        Some(first) => first.to_ascii_uppercase().to_string() + chars.as_str(),
        None => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::super::quote;
    use super::*;

    fn names(body: &str) -> Vec<String> {
        read(body, &quote::split(body))
            .into_iter()
            .map(|trailer| format!("{} {}", trailer.name, trailer.email.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn own_trailers_only() {
        let body = "> Reviewed-by: Other <o@x>\n\nLooks good.\nReviewed-By: Jane <Jane@X.org>\n\n-- \nTested-by: Sig <s@x>\n";
        assert_eq!(names(body), ["Reviewed-by jane@x.org"]);
    }

    #[test]
    fn wrapped_commented_and_noted() {
        let body = "Tested-by: A Very Long Name Indeed\n <a@x.org>\nAcked-by: B <b@x.org> # for docs\n[b: only part 1]\nFixes: 1234 (\"x\")\n";
        let trailers = read(body, &quote::split(body));
        assert_eq!(trailers.len(), 3);
        assert_eq!(trailers[0].value, "A Very Long Name Indeed <a@x.org>");
        assert_eq!(trailers[1].note.as_deref(), Some("[b: only part 1]"));
        assert_eq!(trailers[2].email, None);
    }

    #[test]
    fn a_submission_ends_its_message_at_three_dashes() {
        let body = "Fix\n\nSigned-off-by: A <a@x.org>\n---\nCc: not@this.one\ndiff --git a/x b/x\n";
        assert_eq!(names(body), ["Signed-off-by a@x.org"]);
        assert!(names("Phone: 123\nEmail: a@x.org\nNote: well\n").is_empty());
    }
}
