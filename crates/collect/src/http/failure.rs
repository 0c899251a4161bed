//! The client library's errors, in our words and without addresses.

use std::{error::Error as StdError, io};

use super::{address::Forbidden, unknown::Class};

/// A request that got no answer.
#[derive(Debug)]
pub(super) struct NoAnswer {
    pub(super) class: Class,
    pub(super) why: String,
    /// Nothing was done on the other side, as far as one can tell: it may be sent again.
    pub(super) again: bool,
}

/// No answer came.
pub(super) fn before_answer(error: &reqwest::Error) -> NoAnswer {
    if let Some(forbidden) = find::<Forbidden>(error) {
        return NoAnswer {
            class: Class::Address,
            why: forbidden.to_string(),
            again: false,
        };
    }
    let transport = find::<hyper::Error>(error);
    if transport.is_some_and(hyper::Error::is_parse_too_large) {
        return NoAnswer {
            class: Class::TooLarge,
            why: "the headers are larger than is taken".into(),
            again: false,
        };
    }
    if transport.is_some_and(hyper::Error::is_parse) {
        return NoAnswer {
            class: Class::Undecodable,
            why: "what came is not HTTP".into(),
            again: false,
        };
    }
    let root = root(error);
    if error.is_timeout() {
        return NoAnswer {
            class: Class::Transient,
            why: "cannot connect in time".into(),
            again: false,
        };
    }
    if error.is_connect() {
        return NoAnswer {
            class: Class::Transient,
            why: format!("cannot connect: {root}"),
            again: true,
        };
    }
    let closed = transport
        .is_some_and(|error| error.is_incomplete_message() || error.is_canceled())
        || find::<io::Error>(error).is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::UnexpectedEof
            )
        });
    NoAnswer {
        class: Class::Transient,
        why: format!("the connection was lost before an answer: {root}"),
        again: closed,
    }
}

/// The answer began, and then broke off.
pub(super) fn in_body(error: &reqwest::Error) -> (Class, String) {
    let cut = find::<hyper::Error>(error).is_some_and(hyper::Error::is_incomplete_message)
        || find::<io::Error>(error)
            .is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof);
    let why = if cut {
        "the body is truncated".to_owned()
    } else {
        format!("the connection was lost within the body: {}", root(error))
    };
    (Class::Transient, why)
}

fn find<'e, E: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The innermost cause: the layers around it only say that there was one.
fn root(error: &(dyn StdError + 'static)) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    let text = root.to_string();
    // The system's number for it differs between systems and helps nobody.
    let text = text.split(" (os error").next().unwrap_or_default();
    super::text::escape(text, 200)
}
