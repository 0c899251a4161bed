//! Datasets: what the files of the Python index hold, for fast look-ups without a database.
//!
//! | dataset | asks | answers |
//! |---|---|---|
//! | `modules` | an import name | projects and versions that have it |
//! | `depgraph` | a project, a version, a file | requirements, hashes, tags |
//! | `dependents` | a project | projects and versions that require it |
//!
//! A dataset is one immutable file (see `format.rs`): an fst of all keys, which also finds
//! prefixes and misspellings, over checksummed, compressed blocks of values. The index is read into
//! memory, values by ranges of the file; a damaged file is refused with the place of the damage. An
//! mmap would spare the reading of the index, but a file that shrinks under it kills the process.
//!
//! The three files of one moment are a generation. [`update`] builds the next one from the newest
//! and the dumps that have come since ([`crate::dumps`]), and publishes it by creating one object;
//! a [`Library`] always has a whole generation open and changes to a newer one between two
//! questions. Nothing that a manifest names is ever changed, so neither builders nor readers can
//! meet half of something; [`collect`] removes what no manifest names.

mod build;
mod collect_old;
mod external_sort;
mod format;
mod generation;
mod library;
mod lookup;
mod reader;
mod record;
mod update;
mod writer;

pub use build::{Builder, Built, MEMORY};
pub use collect_old::{Collected, collect};
pub use generation::{
    DatasetFile, Input, Manifest, Published, generations, newest, publish, write_input_list,
};
pub use library::{Datasets, Generation, Library};
pub use lookup::{ProjectFile, Provider};
pub use reader::{Dataset, Entries, Entry};
pub use record::{FileRecord, Versions, normalised, required_project};
pub use update::{Updated, Workshop, hash, update};
pub use writer::{Writer, Written};

/// Why a dataset could not be read or built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// It is damaged, or no dataset at all.
    #[error("the dataset is damaged: {0}")]
    Corrupt(String),
    /// The index is damaged, or keys came out of order.
    #[error("the index of the dataset is damaged")]
    Index(#[source] fst::Error),
    /// No value may be so large.
    #[error("the value of `{key}` has {bytes} bytes, which is too many")]
    TooLarge {
        /// Whose value.
        key: String,
        /// Its size.
        bytes: usize,
    },
    /// A question that cannot be answered.
    #[error("{0}")]
    Query(String),
    /// Others published again and again while this was built.
    #[error("others publish faster than this can be built")]
    Busy,
    /// The dumps.
    #[error(transparent)]
    Dump(#[from] crate::dumps::DumpError),
    /// The object store failed.
    #[error(transparent)]
    Objects(#[from] crate::objects::ObjectsError),
    /// A local file failed.
    #[error("a local file failed")]
    Local(#[from] std::io::Error),
}
