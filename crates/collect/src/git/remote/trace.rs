//! What git's own record of an exchange says: statuses and a few headers.
//!
//! Git tells people what happened, in sentences; statuses, types and `Retry-After` stand only in the
//! record that `GIT_TRACE_CURL` writes. Secrets in it are struck out by git itself, bodies are left
//! out, and it is deleted with the directory of the run.

use std::time::Duration;

use super::Retry;

/// One request and its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Path and query.
    pub(super) target: String,
    /// 0 while there is no answer.
    pub(super) status: u16,
    /// Without parameters, in lower case.
    pub(super) content_type: Option<String>,
    pub(super) location: Option<String>,
    pub(super) retry: Option<Retry>,
}

impl Exchange {
    /// Whether this asked what the repository is.
    pub(super) fn is_first(&self) -> bool {
        path(&self.target).ends_with("/info/refs")
    }

    /// Whether a good status came with something that no git server sends.
    pub(super) fn is_wall(&self) -> bool {
        if !(200..300).contains(&self.status) {
            return false;
        }
        let kind = self.content_type.as_deref().unwrap_or_default();
        let smart = kind.starts_with("application/x-git-upload-pack-");
        if path(&self.target).ends_with("/git-upload-pack") {
            !smart
        } else {
            // Servers of plain files say text, bytes, or nothing.
            let file = ["", "text/plain", "application/octet-stream"].contains(&kind);
            self.is_first() && !smart && !file
        }
    }

    /// Whether the server speaks git, rather than handing out files.
    pub(super) fn is_smart(&self) -> bool {
        let kind = self.content_type.as_deref().unwrap_or_default();
        kind.starts_with("application/x-git-upload-pack-")
    }
}

fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

/// Reads the record; what cannot be understood is skipped.
pub(super) fn exchanges(record: &str) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    for line in record.lines() {
        // The first arrow is git's; whatever follows is the server's.
        if let Some((_, sent)) = line.split_once("=> Send header: ")
            && !line.contains("<= ")
        {
            let mut words = sent.split(' ');
            if let (Some("GET" | "POST"), Some(target)) = (words.next(), words.next()) {
                all.push(Exchange {
                    target: target.to_owned(),
                    ..Exchange::default()
                });
            }
        } else if let Some((_, header)) = line.split_once("<= Recv header: ")
            && let Some(exchange) = all.last_mut()
        {
            receive(exchange, header);
        }
    }
    all
}

fn receive(exchange: &mut Exchange, header: &str) {
    if header.starts_with("HTTP/") {
        let status = header.split(' ').nth(1).and_then(|code| code.parse().ok());
        *exchange = Exchange {
            target: std::mem::take(&mut exchange.target),
            status: status.unwrap_or(0),
            ..Exchange::default()
        };
        return;
    }
    let Some((name, value)) = header.split_once(':') else {
        return;
    };
    let value = value.trim();
    match name.to_ascii_lowercase().as_str() {
        "content-type" => {
            let kind = value.split(';').next().unwrap_or_default().trim();
            exchange.content_type = Some(kind.to_ascii_lowercase());
        }
        "location" => exchange.location = Some(value.to_owned()),
        "retry-after" => exchange.retry = retry(value),
        _ => {}
    }
}

fn retry(value: &str) -> Option<Retry> {
    if let Ok(seconds) = value.parse() {
        return Some(Retry::After(Duration::from_secs(seconds)));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?;
    Some(Retry::At(date.timestamp()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RECORD: &str = "\
12:00:00.000001 http.c:913              == Info: Connected\n\
12:00:00.000001 http.c:872              => Send header: GET /a.git/info/refs?service=git-upload-pack HTTP/1.1\n\
12:00:00.000001 http.c:872              => Send header: Host: forge.example\n\
12:00:00.000001 http.c:860              <= Recv header, 0000000017 bytes (0x00000011)\n\
12:00:00.000001 http.c:872              <= Recv header: HTTP/1.1 100 Continue\n\
12:00:00.000001 http.c:872              <= Recv header: HTTP/2 429\n\
12:00:00.000001 http.c:872              <= Recv header: content-type: Text/HTML; charset=utf-8\n\
12:00:00.000001 http.c:872              <= Recv header: Retry-After: 17\n\
12:00:00.000001 http.c:872              <= Recv header: X-Trick: => Send header: GET /b HTTP/1.1\n";

    #[test]
    fn statuses_and_headers_are_read() {
        let all = exchanges(RECORD);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0].status, 429);
        assert_eq!(all[0].content_type.as_deref(), Some("text/html"));
        assert_eq!(all[0].retry, Some(Retry::After(Duration::from_secs(17))));
        assert!(all[0].is_first());
    }

    #[test]
    fn dates_are_times() {
        let at = retry("Wed, 21 Oct 2026 07:28:00 GMT");
        assert_eq!(
            at.map(|at| at.to_string()).as_deref(),
            Some("again at 2026-10-21T07:28:00Z")
        );
        assert_eq!(retry("soon"), None);
    }

    proptest! {
        #[test]
        fn any_record_is_read(text in "(=> Send header: |<= Recv header: |GET |HTTP/|:|[ -~]|\n){0,60}") {
            let _ = exchanges(&text);
        }
    }
}
