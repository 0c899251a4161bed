//! From the bytes of a copy to the message that is written.

use std::{panic::AssertUnwindSafe, sync::Arc};

use db::Timestamp;
use facts::{mail::MirrorHandling, repository::RepositoryUrl};
use scan::mail::{
    DateSource, Hint, ParsedMessage,
    classify::{Class, Classification, Mail, Rules},
    ids,
    mbox::Envelope,
    quote::{self, Kind},
    series::PatchMail,
    thread::{Links, chain},
};
use serde_json::json;
use store::mail::{KeptList, NewMessage, NewPatch, NewSender, StagedCopy, Verdict, unpack};

use super::automation::is_automation;

/// Of the sender's words this much is searched: longer mail is logs and dumps.
const MAX_SEARCHED: usize = 8 << 10;
/// Of the paths that a patch touches this many are kept.
const MAX_PATHS: usize = 1_000;
/// The longest value of a header that is kept.
const MAX_FIELD: usize = 4_000;

/// Reads copies of one list.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) list: KeptList,
    pub(super) rules: Arc<Rules>,
    pub(super) mirrors: MirrorHandling,
    /// The address of the repository that the list is about.
    pub(super) home: Option<String>,
}

/// What became of a copy.
pub(super) enum Read {
    Message(Box<NewMessage>),
    /// A mirror that nobody wants.
    Skipped(i64),
    /// It cannot be read, and why.
    Dead(i64, String),
}

impl Reader {
    /// Reads one copy. A fault of ours costs this copy, not its batch.
    pub(super) fn read(&self, copy: &StagedCopy) -> Read {
        let Some(bytes) = unpack(&copy.raw) else {
            return Read::Dead(copy.id, "the kept bytes are damaged".to_owned());
        };
        let read = std::panic::catch_unwind(AssertUnwindSafe(|| self.parse(copy, &bytes)));
        read.unwrap_or_else(|_| Read::Dead(copy.id, "reading it failed".to_owned()))
    }

    fn parse(&self, copy: &StagedCopy, bytes: &[u8]) -> Read {
        let envelope = copy.envelope_at.map(|at| Envelope {
            sender: String::new(),
            date: jiff::Timestamp::from_microsecond(at.as_micros()).ok(),
        });
        let hint = Hint {
            envelope: envelope.as_ref(),
        };
        let parsed = scan::mail::parse(bytes, hint);
        let mut mail = Mail::from(&parsed);
        if mail.list_address.is_empty() {
            mail.list_address = &self.list.address;
        }
        let alone = self.rules.classify(&mail);
        mail.in_patch_thread = true;
        let among_patches = self.rules.classify(&mail);
        if self.mirrors == MirrorHandling::Skip && alone.class.is_mirror() {
            return Read::Skipped(copy.id);
        }
        Read::Message(Box::new(self.message(copy, parsed, &alone, &among_patches)))
    }

    fn message(
        &self,
        copy: &StagedCopy,
        parsed: ParsedMessage,
        alone: &Classification,
        among_patches: &Classification,
    ) -> NewMessage {
        let new_text = parsed.new_text();
        let capture = |name: &str| alone.captures.get(name).cloned();
        let signal = Signal::of(&parsed, alone, self.home.as_deref(), &self.list.system);
        let patch = PatchMail::from(&parsed);
        let is_submission = alone.class == Class::PatchSubmission && patch.is_submission();
        let patch = is_submission.then(|| NewPatch {
            subject: parsed.subject.clone().unwrap_or_default(),
            ancestors: to_json(&patch.ancestors),
            author: patch.author,
            has_diff: patch.has_diff,
        });
        let ancestors = chain(Links {
            id: &parsed.message_id,
            references: &parsed.references,
            in_reply_to: &parsed.reply_ids,
            date: None,
        });
        let ancestors = ancestors.into_iter().map(str::to_owned).collect();
        let sender = parsed.sender_email.as_ref().map(|email| NewSender {
            email: email.clone(),
            name: parsed.sender_name.as_ref().map(|name| bounded(name)),
            automation: is_automation(email, parsed.sender_name.as_deref(), &self.list.address),
        });
        let keeps_body = !(self.mirrors == MirrorHandling::MetadataOnly && alone.class.is_mirror());
        let stat = parsed.patch.as_ref().map(|patch| &patch.stat);
        let spans = if keeps_body {
            spans(&parsed)
        } else {
            String::new()
        };
        NewMessage {
            copy: copy.id,
            speaker: format!("{} {}", self.list.address, copy.digest),
            content: content(&parsed, &new_text),
            subject: parsed.subject.as_deref().map(bounded),
            from_field: parsed.from.as_deref().map(bounded),
            sender,
            sent_at: parsed
                .date
                .map(|date| Timestamp::from_micros(date.as_microsecond())),
            date_source: match parsed.date_source {
                DateSource::Header => "header",
                DateSource::Received => "received",
                DateSource::Envelope => "envelope",
                DateSource::None => "none",
            },
            in_reply_to: parsed.in_reply_to.clone(),
            references: to_json(&parsed.references),
            ancestors,
            list_id: parsed.list_id.clone(),
            system: self.list.system.clone(),
            alone: verdict(alone),
            among_patches: verdict(among_patches),
            captures: to_json(&alone.captures),
            external_key: capture("external_key").map(|key| tracker_key(alone, key)),
            action: capture("action"),
            signalled_key: signal.key,
            signalled_url: signal.url,
            mirror_kind: signal.kind,
            mirror_number: signal.number,
            mirror_node: signal.node,
            has_patch: parsed.has_patch,
            diffstat: stat.map(|stat| {
                (
                    stat.files.into(),
                    stat.insertions.into(),
                    stat.deletions.into(),
                )
            }),
            patch_paths: parsed
                .patch
                .as_ref()
                .filter(|one| !one.paths.is_empty())
                .map(|one| to_json(&one.paths.iter().take(MAX_PATHS).collect::<Vec<_>>())),
            trailers: (!parsed.trailers.is_empty()).then(|| to_json(&parsed.trailers)),
            attachments: (!parsed.attachments.is_empty()).then(|| to_json(&parsed.attachments)),
            split_rule: parsed.split_rule.into(),
            spans,
            search_text: if keeps_body {
                searched(&new_text)
            } else {
                String::new()
            },
            patch,
            message_id: parsed.message_id,
            body: keeps_body.then_some(parsed.body),
        }
    }
}

/// Which repository a mail names, and what of it.
#[derive(Default)]
struct Signal {
    url: Option<String>,
    key: Option<String>,
    kind: Option<String>,
    number: Option<i64>,
    node: Option<String>,
}

impl Signal {
    fn of(
        parsed: &ParsedMessage,
        found: &Classification,
        home: Option<&str>,
        system: &str,
    ) -> Self {
        let capture = |name: &str| found.captures.get(name).map(String::as_str);
        let node = node_id(&parsed.message_id);
        let of_home =
            node.is_some() || capture("external_key").is_some_and(|key| key.starts_with("GH-"));
        let named = match (capture("owner"), capture("repo")) {
            (Some(owner), Some(repo)) => Some(format!("https://github.com/{owner}/{repo}")),
            (None, Some(repo)) if repo.contains('/') => Some(format!("https://github.com/{repo}")),
            (None, Some(repo)) if system == "apache" => {
                Some(format!("https://github.com/apache/{repo}"))
            }
            _ => home.filter(|_| of_home).map(str::to_owned),
        };
        let url = named.and_then(|url| RepositoryUrl::parse(&url).ok());
        let kind = capture("kind").map(|kind| match kind {
            "PR" | "pull" => "pull".to_owned(),
            "Issue" | "issues" => "issues".to_owned(),
            other => other.to_ascii_lowercase(),
        });
        Self {
            key: url.as_ref().map(RepositoryUrl::key),
            url: url.as_ref().map(RepositoryUrl::url),
            kind: kind.or_else(|| kind_of_subject(parsed.subject.as_deref()?)),
            number: capture("number").and_then(|number| number.parse().ok()),
            node,
        }
    }
}

/// Subjects of mirrors tell what they copy: `[PR] title [repo]`, `… pull request #5: title`.
fn kind_of_subject(subject: &str) -> Option<String> {
    let subject = subject.trim_start_matches("Re: ");
    if subject.starts_with("[PR]") || subject.contains("pull request #") {
        return Some("pull".to_owned());
    }
    let issue = subject.starts_with("[I]") || subject.contains(" issue #");
    issue.then(|| "issues".to_owned())
}

/// The forge's id of a pull request or an issue, as the notifier of the Apache Software Foundation
/// writes it into message ids: `NODE@gitbox.apache.org`, with `-UUID` behind it for all but the first.
fn node_id(message_id: &str) -> Option<String> {
    let local = message_id.strip_suffix("@gitbox.apache.org")?;
    let cut = local.len().checked_sub(37).filter(|cut| {
        let tail = &local.as_bytes()[*cut..];
        tail[0] == b'-'
            && tail[1..].iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    });
    let node = cut.map_or(local, |cut| &local[..cut]);
    let sound = node.starts_with("PR_")
        || node.starts_with("I_")
        || node.starts_with("D_")
        || node.starts_with("MDExOlB1bGxSZXF1ZXN0")
        || node.starts_with("MDU6SXNzdW");
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-=".contains(&byte);
    (sound && node.len() <= 200 && node.bytes().all(word)).then(|| node.to_owned())
}

/// Bare numbers are keys only together with what gave them.
fn tracker_key(found: &Classification, key: String) -> String {
    if !key.bytes().all(|byte| byte.is_ascii_digit()) {
        return key;
    }
    let tracker = found.rule.rsplit('/').next().unwrap_or_default();
    let tracker = tracker.split('-').next().unwrap_or_default();
    format!("{}-{key}", tracker.to_ascii_uppercase())
}

fn verdict(found: &Classification) -> Verdict {
    Verdict {
        class: found.class.as_str().to_owned(),
        rule: found.rule.clone(),
        source: found.source.as_str().to_owned(),
    }
}

/// Tells messages apart that share an id. Only what every archive keeps as it was counts: letters
/// and digits of the sender's own words, neither footers of lists nor what a wrong charset broke.
fn content(parsed: &ParsedMessage, new_text: &str) -> String {
    let plain: String = new_text
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let words = if plain.len() < 20 {
        let all = if new_text.trim().is_empty() {
            &parsed.body
        } else {
            new_text
        };
        all.chars().filter(|c| c.is_alphanumeric()).collect()
    } else {
        plain
    };
    let hash = ids::content_hash(&[parsed.sender_email.as_deref().unwrap_or_default(), &words]);
    hash[..8].iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The sender's words up to a diff: code is found elsewhere.
fn searched(new_text: &str) -> String {
    let end = ["\ndiff --git ", "\n--- a/", "\nIndex: "]
        .iter()
        .filter_map(|mark| new_text.find(mark))
        .min()
        .unwrap_or(new_text.len());
    let end = new_text.floor_char_boundary(end.min(MAX_SEARCHED));
    new_text[..end].to_owned()
}

fn spans(parsed: &ParsedMessage) -> String {
    let word = |kind: Kind| match kind {
        Kind::New => "new",
        Kind::Quoted => "quoted",
        Kind::Signature => "signature",
        Kind::Footer => "footer",
    };
    let spans = parsed
        .spans
        .iter()
        .map(|span: &quote::Span| json!([word(span.kind), span.range.start, span.range.end]));
    to_json(&spans.collect::<Vec<_>>())
}

fn bounded(text: &str) -> String {
    let end = text.floor_char_boundary(text.len().min(MAX_FIELD));
    text[..end].to_owned()
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_ids_are_cut_out_of_message_ids() {
        let node = |id: &str| node_id(id);
        assert_eq!(
            node("PR_kwDOABCD@gitbox.apache.org").as_deref(),
            Some("PR_kwDOABCD")
        );
        assert_eq!(
            node("I_kwDO-x_1-0a1b2c3d-0000-4111-8222-0123456789ab@gitbox.apache.org").as_deref(),
            Some("I_kwDO-x_1")
        );
        for wrong in [
            "PR_x@gitbox.apache.org.example.org",
            "PR_x@example.org",
            "160000000.1.git@gitbox.apache.org",
            "@gitbox.apache.org",
        ] {
            assert_eq!(node(wrong), None, "{wrong}");
        }
    }
}
