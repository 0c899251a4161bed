//! Mail: bytes of an archive in, messages, classes, threads and patch series out.
//!
//! [`mbox::split`] cuts an archive file, [`parse`] reads one message. Everything here is pure: no
//! clock, no network, no storage.

pub mod address;
pub mod charset;
pub mod classify;
pub mod date;
pub mod header;
pub mod ids;
pub mod mbox;
pub mod message;
pub mod mime;
pub mod patch;
pub mod quote;
pub mod series;
pub mod subject;
pub mod text;
pub mod thread;
pub mod trailer;
pub mod transfer;

pub use message::{Attachment, DateSource, Hint, ParsedMessage, parse};
