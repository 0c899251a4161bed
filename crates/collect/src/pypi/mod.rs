//! Python distributions where they lie on an index, and what is made of them.

pub mod dataset;
mod desk;
pub mod dump;
mod remote_file;

pub use dataset::PypiDataset;
pub use desk::Desk;
pub use dump::PypiDump;
pub use remote_file::{MOST_WHOLE, RemoteFile, RemoteRead, read_remote};
