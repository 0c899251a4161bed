//! Dumps: every file of the Python index, as objects that anybody can read.
//!
//! ```text
//! data_dumps/python_distribution_data/0-812345/python_distribution_data0000.json.gz
//!                                              python_distribution_data0000.parquet
//!                                              python_distribution_data0000.meta.json
//!                                              …
//!                                              dump.json
//!                                     812345-812901/…
//! ```
//!
//! The numbers are those of our own sequence of changes ([`crate::pypi`]), not the index's serials:
//! a file that was read late, read again, yanked or removed gets a new number, so it is in the next
//! incremental dump. A full dump begins at 0 and has many shards, which share its numbers evenly;
//! an incremental one has one shard and begins where the last dump ended.
//!
//! Nothing is ever changed or nuked. A re-dump is a full dump with a greater end; [`chain`] says
//! which dumps together are everything, and datasets name exactly those they were made of. Dumps
//! that nobody needs any more are collected with the datasets ([`crate::datasets`]).

mod catalogue;
mod columns;
mod row;
mod shard;
mod write;

pub use catalogue::{DUMPS, Dump, Range, Shard, ShardFile, chain, end, ranges};
pub use row::DumpRow;
pub(crate) use shard::span;
pub use shard::{Contents, ShardReader, ShardWriter};
pub use write::{complete, incremental, plan, put_shard, read_shard, shard};

/// Why there is no dump.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// An incremental dump needs something to go on from.
    #[error("there is no full dump yet to go on from")]
    NoFullDump,
    /// The dump was begun with another number of shards.
    #[error("the dump {}-{} was begun with {planned} shards", range.from, range.to)]
    Plan {
        /// Which dump.
        range: Range,
        /// How many shards it has.
        planned: u32,
    },
    /// An object that was named is gone.
    #[error("`{0}` is no longer there")]
    Missing(String),
    /// An object is not what it should be.
    #[error("`{name}` is damaged: {why}")]
    Damaged {
        /// Which object.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// The object store failed.
    #[error(transparent)]
    Objects(#[from] crate::objects::ObjectsError),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] db::DbError),
    /// A local file failed.
    #[error("a local file failed")]
    Local(#[from] std::io::Error),
    /// Parquet could not be written.
    #[error("the rows could not be written as Parquet")]
    Parquet(#[from] parquet::errors::ParquetError),
}
