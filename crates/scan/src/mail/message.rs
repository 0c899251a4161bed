//! One message, parsed: what the store keeps and the classifier reads.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::charset::Repair;
use super::header::{self, Header};
use super::mbox::Envelope;
use super::mime::{self, Part};
use super::patch::{self, Patch};
use super::quote::{self, Kind, Span};
use super::text;
use super::trailer::{self, Trailer};
use super::{address, date, ids};

/// Mail dated more than this after its last hop was dated by a wrong clock.
const FUTURE_TOLERANCE_SECONDS: i64 = 7 * 24 * 3600;
/// Attachments beyond this are listed without being searched for patches.
const MAX_PATCH_ATTACHMENT: usize = 8 * 1024 * 1024;
const MAX_KEPT_FIELDS: usize = 100;
const MAX_KEPT_VALUE: usize = 1000;

/// What is known about a message from outside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint<'a> {
    /// The separator line of the mbox it came from.
    pub envelope: Option<&'a Envelope>,
}

/// A parsed message. Serialised, it has the fields of `gleaner mail parse`.
#[derive(Clone, Debug, Serialize)]
pub struct ParsedMessage {
    /// Without angle brackets; made here (and ending in `@generated.gleaner`) where none is given.
    pub message_id: String,
    /// Further ids of the message: public-inbox adds one where the first was used twice.
    pub other_ids: Vec<String>,
    pub subject: Option<String>,
    /// The From field, decoded.
    pub from: Option<String>,
    pub sender_name: Option<String>,
    /// Lower case, without `.INVALID`.
    pub sender_email: Option<String>,
    #[serde(serialize_with = "six_decimals")]
    pub date: Option<Timestamp>,
    pub date_source: DateSource,
    /// The first id of In-Reply-To; see `reply_ids`.
    pub in_reply_to: Option<String>,
    /// All ids of all In-Reply-To fields.
    pub reply_ids: Vec<String>,
    /// Oldest first, as written.
    pub references: Vec<String>,
    /// The identifier in List-Id, without brackets and display name.
    pub list_id: Option<String>,
    /// The list's posting address, from whichever field names it.
    pub list_address: Option<String>,
    /// Readable text, LF line ends.
    pub body: String,
    pub body_from_html: bool,
    #[serde(serialize_with = "repair_word")]
    pub charset_repair: Repair,
    /// The body cut into new, quoted, signature and footer; by `quote::RULE_VERSION`.
    pub spans: Vec<Span>,
    pub split_rule: u32,
    /// A diff of the sender's own is in the text or attached.
    pub has_patch: bool,
    pub patch: Option<Patch>,
    pub trailers: Vec<Trailer>,
    pub attachments: Vec<Attachment>,
    /// Fields kept for the classifier, names in lower case; transport traces are left out.
    #[serde(skip)]
    pub headers: Vec<(String, String)>,
}

/// Where the date was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DateSource {
    Header,
    /// The oldest Received field: the hop closest to the sender, the same in every archive.
    Received,
    /// The separator line of the mbox.
    Envelope,
    None,
}

/// A part that is not the text; listed, never stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    pub name: Option<String>,
    pub content_type: String,
    /// Decoded.
    pub size: u64,
    pub is_patch: bool,
}

impl ParsedMessage {
    /// What the sender wrote for this message.
    pub fn new_text(&self) -> String {
        quote::text_of(&self.body, &self.spans, Kind::New)
    }

    /// Tells messages apart that share an id; the same in every archive.
    pub fn content_hash(&self) -> [u8; 32] {
        ids::content_hash(&[
            self.subject.as_deref().unwrap_or_default(),
            self.sender_email.as_deref().unwrap_or_default(),
            &self.body,
        ])
    }

    /// The first kept field of that name (given in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Parses one message. Never fails: what cannot be read is absent, and the text is kept as well as
/// it can be.
pub fn parse(bytes: &[u8], hint: Hint<'_>) -> ParsedMessage {
    let (mut header, content) = Header::split(bytes);
    let parts = mime::parts(&header, content);
    header.raw_charset = parts.iter().find_map(|part| part.charset.clone());
    let body = text::body(&parts);
    let spans = quote::split(&body.text);
    let (attachments, attached_patch) = attachments(&parts);
    let patch = join_patches(patch::read(&body.text), attached_patch);
    let has_patch = patch.as_ref().is_some_and(|patch| patch.has_diff)
        || attachments.iter().any(|attachment| attachment.is_patch);
    let sender = header
        .raw("From")
        .or_else(|| header.raw("Sender"))
        .and_then(|value| {
            let found = address::mailboxes_from(value, header.raw_charset.as_deref());
            found.into_iter().next()
        })
        .unwrap_or_default();
    let (date, date_source) = find_date(&header, hint.envelope);
    let mut message = ParsedMessage {
        message_id: String::new(),
        other_ids: Vec::new(),
        subject: header.text("Subject"),
        from: header.text("From").filter(|from| !from.is_empty()),
        sender_name: sender.name,
        sender_email: sender.email,
        date,
        date_source,
        in_reply_to: None,
        reply_ids: ancestors(&header, "In-Reply-To"),
        references: ancestors(&header, "References"),
        list_id: header
            .text("List-Id")
            .and_then(|value| list_identifier(&value)),
        list_address: list_address(&header),
        trailers: trailer::read(&body.text, &spans),
        body: body.text,
        body_from_html: body.from_html,
        charset_repair: body.repair,
        spans,
        split_rule: quote::RULE_VERSION,
        has_patch,
        patch,
        attachments,
        headers: kept_fields(&header),
    };
    identify(&mut message, &header);
    message
}

/// Sets the ids, and drops the message's own from its ancestors.
fn identify(message: &mut ParsedMessage, header: &Header<'_>) {
    let mut given = header
        .all_raw("Message-ID")
        .flat_map(|value| ids::message_ids(&header::unfold(value)));
    message.message_id = match given.next() {
        Some(id) => id,
        None => ids::generated(&[
            &header.raw("Date").map(header::unfold).unwrap_or_default(),
            message.from.as_deref().unwrap_or_default(),
            message.subject.as_deref().unwrap_or_default(),
            &message.references.join(" "),
            &message.body,
        ]),
    };
    message.other_ids = given.filter(|id| *id != message.message_id).collect();
    let own = &message.message_id;
    message.reply_ids.retain(|id| id != own);
    message.references.retain(|id| id != own);
    message.in_reply_to = message.reply_ids.first().cloned();
}

/// Ids named by all fields of that name, without those that are addresses of people: old mailers
/// wrote `Message from Joe <joe@example.org> of Monday <id>`.
fn ancestors(header: &Header<'_>, name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in header.all_raw(name) {
        for id in ids::ancestors(&header::unfold(value)) {
            // Made ids hold many digits, addresses few: this spares most of them the search.
            let is_person = id.bytes().filter(u8::is_ascii_digit).count() < 6
                && ["From", "To", "Cc"].iter().any(|field| {
                    header
                        .raw(field)
                        .is_some_and(|people| names_person(people, &id))
                });
            if !is_person && !found.contains(&id) {
                found.push(id);
            }
        }
    }
    found
}

fn names_person(people: &[u8], address: &str) -> bool {
    memchr::memmem::find_iter(people, address.as_bytes()).any(|at| {
        let is_edge =
            |byte: Option<&u8>| byte.is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'.');
        is_edge(at.checked_sub(1).and_then(|before| people.get(before)))
            && is_edge(people.get(at + address.len()))
    })
}

fn find_date(header: &Header<'_>, envelope: Option<&Envelope>) -> (Option<Timestamp>, DateSource) {
    let hop = |value: &[u8]| {
        let line = header::unfold(value);
        // Hosts and ids in front may hold anything; the date stands behind the last semicolon.
        date::parse(
            line.rsplit_once(';')
                .map_or(line.as_str(), |(_, date)| date),
        )
    };
    let written = ["Date", "Resent-Date"]
        .iter()
        .find_map(|name| date::parse(&header::unfold(header.raw(name)?)));
    if let Some(written) = written {
        let last_hop = header.all_raw("Received").next().and_then(hop);
        let in_future = last_hop
            .is_some_and(|hop| written.as_second() - hop.as_second() > FUTURE_TOLERANCE_SECONDS);
        if !in_future {
            return (Some(written), DateSource::Header);
        }
    }
    if let Some(received) = header.all_raw("Received").rev().find_map(hop) {
        return (Some(received), DateSource::Received);
    }
    match envelope.and_then(|envelope| envelope.date) {
        Some(date) => (Some(date), DateSource::Envelope),
        None => (None, DateSource::None),
    }
}

fn attachments(parts: &[Part<'_>]) -> (Vec<Attachment>, Option<Patch>) {
    let mut attachments = Vec::new();
    let mut found: Option<Patch> = None;
    for part in parts
        .iter()
        .filter(|part| !part.is_nested && is_listed(part))
    {
        let size = part.decoded().len();
        let named_patch = is_patch_name(part);
        let mut is_patch = named_patch;
        if (named_patch || part.content_type.starts_with("text/")) && size <= MAX_PATCH_ATTACHMENT {
            let (text, _) = text::decode_part(part);
            if let Some(patch) = patch::read(&text).filter(|patch| patch.has_diff) {
                is_patch = true;
                found = join_patches(found, Some(patch));
            }
        }
        attachments.push(Attachment {
            name: part.file_name.clone(),
            content_type: part.content_type.clone(),
            size: size as u64,
            is_patch,
        });
    }
    (attachments, found)
}

fn is_listed(part: &Part<'_>) -> bool {
    let readable =
        part.content_type.starts_with("text/") || part.content_type.starts_with("multipart/");
    part.is_attachment
        || part.file_name.is_some()
        || !readable
        || part.content_type == "text/x-patch"
        || part.content_type == "text/x-diff"
}

fn is_patch_name(part: &Part<'_>) -> bool {
    let by_type = matches!(
        part.content_type.as_str(),
        "text/x-patch"
            | "text/x-diff"
            | "text/patch"
            | "text/diff"
            | "application/x-patch"
            | "application/x-diff"
    );
    let extension = part
        .file_name
        .as_deref()
        .and_then(|name| std::path::Path::new(name).extension());
    by_type
        || extension.is_some_and(|extension| {
            extension.eq_ignore_ascii_case("patch") || extension.eq_ignore_ascii_case("diff")
        })
}

fn join_patches(one: Option<Patch>, other: Option<Patch>) -> Option<Patch> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            // A summary in the text announces what is attached: count it once.
            if one.has_diff == other.has_diff {
                one.merge(other);
                Some(one)
            } else if one.has_diff {
                Some(one)
            } else {
                Some(other)
            }
        }
        (one, other) => one.or(other),
    }
}

/// `"Maven Developers List" <dev.maven.apache.org>` to the identifier.
pub(super) fn list_identifier(value: &str) -> Option<String> {
    let inner = match (value.rfind('<'), value.rfind('>')) {
        (Some(open), Some(close)) if open < close => &value[open + 1..close],
        (Some(open), None) => &value[open + 1..],
        _ => value,
    };
    let id = inner.trim().to_ascii_lowercase();
    (!id.is_empty() && id.len() <= 500).then_some(id)
}

/// Each kind of list software names the posting address in a field of its own.
fn list_address(header: &Header<'_>) -> Option<String> {
    if let Some(post) = header.raw("List-Post").map(header::unfold)
        && let Some((_, rest)) = post.split_once("mailto:")
    {
        let address = rest.split(['>', '?', ',']).next().unwrap_or_default();
        if let Some(email) = address::clean_email(address) {
            return Some(email);
        }
    }
    // ezmlm: `contact dev-help@example.org; run by ezmlm`.
    if let Some(value) = header.raw("Mailing-List").map(header::unfold) {
        let word = value
            .split([' ', ';'])
            .find(|word| word.contains('@'))
            .unwrap_or_default();
        let (user, host) = word.split_once('@').unwrap_or_default();
        let user = user.strip_suffix("-help").unwrap_or(user);
        if let Some(email) = address::clean_email(&format!("{user}@{host}")) {
            return Some(email);
        }
    }
    ["X-Mailing-List", "X-BeenThere", "X-Original-To"]
        .iter()
        .take(2)
        .find_map(|name| address::clean_email(&header::unfold(header.raw(name)?)))
}

/// Fields that rules may ask for: all but the traces of transport and the ones parsed above.
fn kept_fields(header: &Header<'_>) -> Vec<(String, String)> {
    const SKIPPED: [&str; 27] = [
        "received",
        "dkim-",
        "arc-",
        "domainkey-",
        "authentication-",
        "x-google-",
        "x-gm-",
        "x-ms-",
        "x-microsoft-",
        "x-spam",
        "x-virus",
        "x-received",
        "x-forefront",
        "x-exchange",
        "x-originatororg",
        "subject",
        "from",
        "date",
        "references",
        "content-",
        "return-path",
        "x-proofpoint",
        "mime-version",
        "user-agent",
        "x-mailer",
        "thread-",
        "x-sasl-",
    ];
    header
        .iter()
        .filter(|(name, _)| {
            !SKIPPED.iter().any(|skipped| {
                name.get(..skipped.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(skipped.as_bytes()))
            })
        })
        .take(MAX_KEPT_FIELDS)
        .map(|(name, value)| {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            (
                name,
                header::decode_value(&value[..value.len().min(MAX_KEPT_VALUE)]),
            )
        })
        .collect()
}

#[expect(clippy::ref_option, reason = "the signature serde asks for")]
fn six_decimals<S: Serializer>(date: &Option<Timestamp>, out: S) -> Result<S::Ok, S::Error> {
    match date {
        Some(date) => out.collect_str(&format_args!("{date:.6}")),
        None => out.serialize_none(),
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn repair_word<S: Serializer>(repair: &Repair, out: S) -> Result<S::Ok, S::Error> {
    match repair {
        Repair::None => out.serialize_none(),
        Repair::Relabelled => out.serialize_str("relabelled"),
        Repair::Lossy => out.serialize_str("lossy"),
    }
}
