//! A Python index, crawled and followed: its double, and the one that pip is configured with.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod crawling;
mod following;
mod odd_files;
mod real_index;
mod whole_index;
mod world;
