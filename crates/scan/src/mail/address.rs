//! Who sent it: one address out of a From field.

use mail_parser::parsers::MessageStream;
use mail_parser::{Address, HeaderValue};

use super::header;

/// Fields with thousands of recipients exist; nobody needs more than these.
const MAX_FIELD: usize = 64 * 1024;

/// A mailbox: a display name, an address, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    pub name: Option<String>,
    /// Lower case, without the `.INVALID` that some lists append against DMARC.
    pub email: Option<String>,
}

/// The mailboxes of an address field, in order.
pub fn mailboxes(value: &[u8]) -> Vec<Mailbox> {
    mailboxes_from(value, None)
}

/// The same, with the charset of raw 8-bit bytes.
pub(super) fn mailboxes_from(value: &[u8], raw_charset: Option<&str>) -> Vec<Mailbox> {
    let mut line = header::unfold_from(&value[..value.len().min(MAX_FIELD)], raw_charset);
    line.push('\n');
    let parsed = match MessageStream::new(line.as_bytes()).parse_address() {
        HeaderValue::Address(Address::List(list)) => list,
        HeaderValue::Address(Address::Group(groups)) => groups
            .into_iter()
            .flat_map(|group| group.addresses)
            .collect(),
        _ => Vec::new(),
    };
    let mailboxes: Vec<Mailbox> = parsed
        .into_iter()
        .map(|addr| Mailbox {
            name: addr
                .name
                .map(|name| header::decode_value(name.as_bytes()))
                .filter(|name| !name.is_empty()),
            email: addr.address.as_deref().and_then(clean_email),
        })
        .collect();
    if mailboxes.iter().any(|mailbox| mailbox.email.is_some()) {
        return mailboxes;
    }
    // Too broken for the grammar: the last thing that looks like an address is one.
    let email = last_address(&line).or_else(|| clean_email(line.split('(').next()?));
    let name = line
        .split(['<', '('])
        .next()
        .map(str::trim)
        .filter(|name| !name.is_empty());
    match email {
        Some(_) => vec![Mailbox {
            name: name.map(str::to_owned).filter(|name| !name.contains('@')),
            email,
        }],
        None => mailboxes,
    }
}

/// Lower-cased and freed of wrapping; `None` for what cannot be an address.
pub fn clean_email(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || "<>\"',;".contains(c));
    let text = text.strip_prefix("mailto:").unwrap_or(text);
    // `someone at example.org`, as pipermail shows addresses.
    let joined = match text.split_once(" at ") {
        Some((user, host)) if !user.contains('@') => format!("{}@{}", user.trim(), host.trim()),
        _ => text.to_owned(),
    };
    let mut email = joined.to_lowercase();
    email.retain(|c| !c.is_control());
    if let Some(real) = email.strip_suffix(".invalid")
        && real.contains('.')
    {
        email.truncate(real.len());
    }
    let (user, host) = email.rsplit_once('@')?;
    let whole = !user.is_empty() && !host.is_empty() && !email.contains(char::is_whitespace);
    (whole && email.len() <= 320).then_some(email)
}

fn last_address(line: &str) -> Option<String> {
    line.split(|c: char| c.is_whitespace() || "<>\"(),;".contains(c))
        .rev()
        .filter(|word| word.contains('@'))
        .find_map(clean_email)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(value: &str) -> (Option<String>, Option<String>) {
        let mailbox = mailboxes(value.as_bytes())
            .into_iter()
            .next()
            .unwrap_or_default();
        (mailbox.name, mailbox.email)
    }

    fn pair(name: &str, email: &str) -> (Option<String>, Option<String>) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (some(name), some(email))
    }

    #[test]
    fn from_fields_as_met() {
        assert_eq!(
            first("Jane Doe <Jane@Example.ORG>"),
            pair("Jane Doe", "jane@example.org")
        );
        assert_eq!(
            first("\"Daniel Gruno\"<h@apache.org>"),
            pair("Daniel Gruno", "h@apache.org")
        );
        assert_eq!(
            first("jane@example.org (Jane Doe)"),
            pair("Jane Doe", "jane@example.org")
        );
        assert_eq!(first("jane@example.org"), pair("", "jane@example.org"));
        assert_eq!(
            first("=?utf-8?q?J=C3=A9r=C3=B4me?= <j@x.org>"),
            pair("Jérôme", "j@x.org")
        );
        assert_eq!(
            first("\"=?UTF-8?B?SsOpcsO0bWU=?=\" <j@x.org>"),
            pair("Jérôme", "j@x.org")
        );
        assert_eq!(
            first("Mahmood <nt@yahoo.com.INVALID>"),
            pair("Mahmood", "nt@yahoo.com")
        );
        assert_eq!(
            first("jane at example.org (Jane)").1.as_deref(),
            Some("jane@example.org")
        );
        assert_eq!(
            first("no address at all"),
            (Some("no address at all".to_owned()), None)
        );
    }
}
