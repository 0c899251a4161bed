//! Objects, dumps and datasets, through the doors that collectors and the web use.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says where"
)]

mod damage;
mod generations;
mod histories;
mod objects;
mod s3;
mod world;
