//! Where dumps and datasets go, for those who make them.

use std::path::PathBuf;

use engine::RunError;
use store::{
    datasets::DatasetError,
    dumps::DumpError,
    objects::{Objects, ObjectsError, Place},
};

/// The objects, and room for what is not an object yet.
#[derive(Clone, Debug)]
pub struct Desk {
    /// Where dumps and datasets are.
    pub place: Place,
    /// Files grow here.
    pub scratch: PathBuf,
    /// The memory that sorting may take, in bytes.
    pub memory: usize,
}

impl Desk {
    /// Objects in a directory, with room beside it.
    pub fn below(place: &std::path::Path) -> Self {
        Self {
            place: Place::Directory(place.join("objects")),
            scratch: place.join("scratch"),
            memory: store::datasets::MEMORY,
        }
    }

    /// Opens the objects; makes the room.
    pub fn open(&self) -> Result<Objects, ObjectsError> {
        std::fs::create_dir_all(&self.scratch)?;
        Objects::open(&self.place)
    }
}

/// The object store is nobody's upstream: what fails there is tried again like any other fault.
pub(super) fn at_objects(error: impl Into<DatasetError>) -> RunError {
    match error.into() {
        DatasetError::Dump(DumpError::Database(error)) => error.into(),
        other => RunError::unit(other),
    }
}
