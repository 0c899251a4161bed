//! Python distributions where they lie on an index.

mod remote_file;

pub use remote_file::{MOST_WHOLE, RemoteFile, RemoteRead, read_remote};
