//! The Go index: what the tags of repositories name, and the feed that clients follow.
//!
//! Collectors only append: tags with what they name or why they name nothing, and events where a
//! tag moved, vanished or came back. What a tag pointed at first stays the published version. The
//! feed is written by [`publish`] alone, which gives numbers and moments to what has been committed
//! before; so a version that is committed late is published late, and nobody who follows the feed
//! misses it, whatever the number of writers.
//!
//! Only [`publish`] writes numbers, only the unit of a repository writes what its tags name.

mod feed;
mod modules;
mod report;
mod roots;
mod tags;

pub use feed::{Asked, Entry, Published, page, publish, validator};
pub use modules::{
    IncompatibleVersion, ModuleChange, OwnVersion, TopTag, contents, keep_contents, own_versions,
    settle, top_tags,
};
pub use report::{
    Event, Module, Rejected, Status, Version, events, module, modules, rejected, status, versions,
};
pub use roots::{Leads, Root, root_answered, roots};
pub use tags::{
    KnownTag, NewTag, NewVersion, began, enter, finished, forget_digest, known_tags, leave,
    listing_began, listing_finished, moved, only_from, record, ref_digest, returned, vanished,
};
