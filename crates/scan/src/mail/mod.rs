//! Mail: bytes of an archive in, messages, classes, threads and patch series out.
//!
//! [`mbox::split`] cuts an archive, [`parse`] reads one message, [`classify`](classify::classify)
//! says what it is, [`thread::Threads`] and [`series::group`] tell what belongs together:
//!
//! ```
//! use scan::mail::{self, Hint, classify::{Mail, Rules}, mbox};
//!
//! let archive = b"From a@b Sat Sep 30 08:58:08 2017\nSubject: [VOTE] Release 1.0\n\n+1\n";
//! let mut splitter = mbox::split(&archive[..]);
//! while let Some(raw) = splitter.next_message()? {
//!     let message = mail::parse(&raw.bytes, Hint { envelope: raw.envelope.as_ref() });
//!     let found = Rules::shipped("apache")?.classify(&Mail::from(&message));
//!     assert_eq!(found.class.as_str(), "vote");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything here is pure: no clock, no network, no storage. Nothing fails on bad mail; what cannot
//! be read is absent, and every reader has limits on size, depth and count and takes linear time.
//! The MIME walk and the transfer decodings are our own, because a strict or recursive reader loses
//! damaged mail or falls to nested mail; fields with a grammar go through `mail-parser`.

pub mod address;
pub mod charset;
pub mod classify;
pub mod date;
pub mod header;
pub mod html;
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
mod utf7;

pub use message::{Attachment, DateSource, Hint, ParsedMessage, parse};
