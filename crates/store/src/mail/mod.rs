//! Mail: what archives hold, the messages in it, and what belongs together.
//!
//! Writing has two halves. Whoever fetches only *stages*: a copy of each mail with its bytes
//! ([`stage`]), and how far the archive was read ([`read_part`]), in one transaction. One resolver
//! for each list then turns copies into messages ([`write`]): message, text, search, thread and
//! senders in one transaction, which also marks the copies as done. A mail that cannot be written is
//! set aside with its bytes ([`set_aside`]); nothing is dropped.
//!
//! What is written depends on the *set* of copies only. A message that has several (cross-posts, two
//! archives of one list) is told by the copy that comes first in a fixed order, whichever arrived
//! first; threads are connected over ids that nobody has seen, and their keys, parents and classes
//! follow from all mail that is there. A copy that leaves its archive takes back what it brought
//! ([`forget`]).

mod activity;
mod issues;
mod lists;
mod new_message;
mod patches;
mod project;
mod raw;
mod read;
mod search;
mod senders;
mod staging;
mod stats;
mod threads;
mod verify;
mod write;

pub use activity::{NewIssue, Wanted, activity_answered, concerned, has_lists, record_issues};
pub use issues::backfill_keys;
pub use lists::{
    KeptList, NewList, Registered, began, by_id, failed, find, finished, lists, register,
};
pub use new_message::{NewMessage, NewPatch, NewSender, Verdict, Written};
pub use patches::{NewSeries, PatchRow, SeriesMember, due_authors, patches_of, replace_series};
pub use project::{Projected, project, resolve_signals, unresolved};
pub use raw::{pack, unpack};
pub use read::{
    Copy, MessagePlace, MessageView, ThreadEntry, ThreadView, by_message_id, in_list, raw_of,
    raws_of_thread, recent_threads, thread_of,
};
pub use search::{Hit, search};
pub use senders::{SendersFound, Stranger, identified, not_identified, resolve_senders, strangers};
pub use staging::{
    DeadLetter, KnownPart, NewCopy, StagedCopy, buried, bury, count_part, dead_letters, digests_of,
    forget, known_digests, parts, read_again, read_part, set_aside, skip, stage, staged,
    staged_lists,
};
pub use stats::{ClassCount, Stats, WaitingList, stats};
pub use verify::{Branch, Branches, branches};
pub use write::write;
