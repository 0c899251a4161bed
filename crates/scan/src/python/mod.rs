//! Readers of Python distributions and of the pages that list them.
//!
//! [`read_distribution`] reads wheels, eggs and source distributions through a
//! [`RangeSource`], fetching no more than it needs, and says which modules they
//! hold, what they require and what is odd about them. [`simple`] reads the
//! pages of an index. Every file comes from a stranger: sizes, counts and names
//! are bounded by [`Limits`], and a file that breaks them is refused with a
//! typed [`Refusal`].

pub mod changelog;
mod distribution;
mod egg;
mod entry_points;
mod fetched;
mod filename;
mod marker;
mod member_name;
mod metadata;
mod modules;
mod project_files;
mod project_name;
mod refusal;
mod requirement;
mod requires_txt;
mod sdist;
pub mod simple;
mod source;
mod source_layout;
mod source_tree;
mod tar_archive;
mod version;
mod wheel;
mod zip_archive;

pub use distribution::{
    Distribution, EXTRACTOR_VERSION, Listing, Warning, read_distribution, read_listing,
    wheel_of_parts,
};
pub use entry_points::EntryPoint;
pub use filename::{FileKind, Filename, SdistFormat, WheelTags};
pub use metadata::{CoreMetadata, ImportName};
pub use modules::{Module, ModuleKind, egg_modules, top_imports, wheel_modules};
pub use project_name::{is_valid_name, normalize_name};
pub use refusal::{Limits, ReadError, Refusal};
pub use requirement::{Requirement, RequirementFault};
pub use requires_txt::RequiresTxt;
pub use source::{PartialFile, RangeSource, SeekSource, SourceError};
pub use version::{compare_versions, is_version_specifier, normalize_version};
