//! From what a git process left behind to what it means.

use super::{
    Refused, RemoteError, Settings,
    address::{Place, without_secrets},
    config,
    run::{Break, Ran},
    trace::Exchange,
};

/// The most characters shown of what git said.
const MAX_MESSAGE: usize = 300;

/// What curl takes of headers, by its own limit; it calls more "out of memory".
const MAX_HEADERS: u64 = 300 << 10;

/// What the process said, or why that cannot be had.
pub(super) fn heard<T>(
    ran: Ran<T>,
    place: &Place,
    settings: &Settings,
) -> Result<(T, Vec<Exchange>), RemoteError> {
    // Servers of files answer 404 to many a guess on the way to a good end.
    let ended_well = ran.said.is_ok() && ran.status.success();
    let last = ran.exchanges.last().filter(|_| !ended_well);
    // Statuses come before words, and a page with 200 can look like a repository without refs.
    if let Some(error) = last
        .and_then(|last| by_status(last, place, settings))
        .or_else(|| wall(&ran.exchanges, place))
    {
        return Err(error);
    }
    let url = || place.as_str().to_owned();
    match ran.said {
        Ok(said) if ran.status.success() => Ok((said, ran.exchanges)),
        Err(Break::TooMuch) => Err(RemoteError::TooMuch {
            url: url(),
            what: "refs",
            limit: settings.limits.listing_bytes as u64,
        }),
        Err(Break::Garbled(message)) if ran.complaint.trim().is_empty() => {
            Err(RemoteError::Damaged {
                url: url(),
                message: one_line(&message),
            })
        }
        Err(Break::Refused(message)) => Err(RemoteError::Failed {
            url: url(),
            message: one_line(&config::redacted(&message, settings)),
        }),
        _ => Err(by_complaint(
            &ran.complaint,
            &ran.exchanges,
            place,
            settings,
        )),
    }
}

fn by_status(last: &Exchange, place: &Place, settings: &Settings) -> Option<RemoteError> {
    let url = place.as_str().to_owned();
    let retry = last.retry.clone();
    Some(match last.status {
        404 | 410 if last.is_first() => RemoteError::NoRepository { url },
        401 => {
            let with_token = config::token(place, settings).is_some();
            if !with_token && settings.unauthorized_means_absent.contains(place.host()) {
                RemoteError::NoRepository { url }
            } else {
                RemoteError::Unauthorized { url, with_token }
            }
        }
        429 => RemoteError::Limited { url, retry },
        403 if retry.is_some() => RemoteError::Limited { url, retry },
        status @ 400..=499 => RemoteError::Forbidden { url, status },
        status @ 500..=599 => RemoteError::ServerFailed { url, status, retry },
        300..=399 => RemoteError::Moved {
            url,
            to: without_secrets(last.location.as_deref().unwrap_or("nowhere")),
            why: String::new(),
        },
        _ => return None,
    })
}

fn wall(exchanges: &[Exchange], place: &Place) -> Option<RemoteError> {
    let wall = exchanges.iter().find(|one| one.is_wall())?;
    let kind = wall.content_type.as_deref().unwrap_or_default();
    Some(RemoteError::Wall {
        url: place.as_str().to_owned(),
        kind: match kind {
            "" => "something".to_owned(),
            kind => one_line(kind),
        },
    })
}

fn by_complaint(
    complaint: &str,
    exchanges: &[Exchange],
    place: &Place,
    settings: &Settings,
) -> RemoteError {
    let url = place.as_str().to_owned();
    let message = one_line(complaint);
    // What servers say stands behind `remote: `; only git's own words are believed.
    let own: String = complaint
        .lines()
        .filter(|line| !line.starts_with("remote: "))
        .flat_map(|line| [line, "\n"])
        .collect();
    let says = |words: &[&str]| words.iter().any(|word| own.contains(word));
    let unsupported = |what| RemoteError::Unsupported {
        url: url.clone(),
        what,
    };
    if says(&["Operation too slow"]) {
        RemoteError::Silent {
            url,
            limit: settings.limits.idle,
        }
    } else if says(&["not our ref", "not allow request for unadvertised object"]) {
        unsupported(Refused::Ids)
    } else if says(&["support shallow", "support --depth", "hallow file"]) {
        unsupported(Refused::Depth)
    } else if says(&["remote error: filter", "filtering not", "filter-spec"]) {
        unsupported(Refused::Filters)
    } else if says(&["Too large response headers", "curl 27", "': Out of memory"]) {
        RemoteError::TooMuch {
            url,
            what: "headers",
            limit: MAX_HEADERS,
        }
    } else if says(&["Out of memory", "memory exhausted"]) {
        RemoteError::TooMuch {
            url,
            what: "refs",
            limit: settings.limits.listing_bytes as u64,
        }
    } else if let Some(name) = after(&own, "couldn't find remote ref ") {
        // A server of files without refs is no clean answer.
        let clean = !place.protocol.is_http() || exchanges.iter().any(Exchange::is_smart);
        if clean {
            RemoteError::NoRef { url, name }
        } else {
            RemoteError::Damaged { url, message }
        }
    } else if place.protocol == super::Protocol::File && says(&["does not appear to be a git"]) {
        RemoteError::NoRepository { url }
    } else if says(&[
        "unable to access",
        "Could not resolve",
        "Failed to connect",
        "Connection refused",
        "Connection reset",
    ]) && !exchanges.iter().any(|one| one.status != 0)
    {
        RemoteError::Unreachable { url, message }
    } else if says(&[
        "early EOF",
        "unexpected disconnect",
        "transfer closed",
        "RPC failed",
        "index-pack",
        "hung up",
        "pack header",
        "protocol error",
        "bad line length",
        "expected ",
        "did not send all necessary objects",
        "bad pack",
        "unexpected end of file",
        "still expected",
        "truncated",
        "unable to access",
    ]) {
        RemoteError::Damaged { url, message }
    } else {
        RemoteError::Failed { url, message }
    }
}

fn after(text: &str, words: &str) -> Option<String> {
    let at = text.find(words)? + words.len();
    Some(one_line(text[at..].lines().next().unwrap_or_default()))
}

/// The one line that says most, safe to show.
pub(super) fn one_line(complaint: &str) -> String {
    let lines = || {
        complaint
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let line = lines()
        .find(|line| line.starts_with("fatal: "))
        .or_else(|| lines().find(|line| line.starts_with("error: ")))
        .or_else(|| lines().next())
        .unwrap_or("git did not say why");
    let line = line
        .strip_prefix("fatal: ")
        .or_else(|| line.strip_prefix("error: "))
        .unwrap_or(line);
    let mut shown: String = line
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_MESSAGE)
        .collect();
    if line.chars().nth(MAX_MESSAGE).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_line_that_says_most_is_shown() {
        let complaint = "remote: \u{1b}[31mHello\nwarning: x\nfatal: no\u{7}pe\nerror: y\n";
        assert_eq!(one_line(complaint), "no pe");
        assert_eq!(one_line("\n\n"), "git did not say why");
        assert_eq!(one_line(&"x".repeat(1000)).chars().count(), 301);
    }

    proptest! {
        #[test]
        fn any_complaint_becomes_one_short_line(text in any::<String>()) {
            let line = one_line(&text);
            prop_assert!(line.chars().count() <= 301 && !line.contains(char::is_control));
        }
    }
}
