//! What the store keeps, on both databases: one binary, because linking each file apart costs more
//! than its tests.

#![expect(clippy::unwrap_used, reason = "a failed step ends the test")]

mod catalogue;
mod datasets;
mod declared_names;
mod distribution;
mod forges;
mod goindex;
mod http_cache;
mod license;
mod mail;
mod manifest_blobs;
mod observed;
