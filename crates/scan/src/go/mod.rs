//! Go's rules for what a tag of a repository is a version of.
//!
//! Everything here is a pure function of names and of the text of go.mod, so
//! that the same answer can be computed again from stored blobs. The rules are
//! those of the go command, with one difference: the go command starts from a
//! module path somebody asked for, an index starts from a tag and must find
//! the path. [`VersionTag`] says which files have to be read for a tag,
//! [`resolve()`] what the tag names once they have been read, and
//! [`visible_incompatible`] which `+incompatible` versions a listing shows.
//! A tag that names nothing gets a typed [`Rejection`].

mod escape;
mod import_meta;
mod incompatible;
mod mod_file;
mod mod_string;
mod mod_syntax;
mod module_path;
mod pseudo;
mod resolve;
mod semver;
mod tag;

pub use escape::{escape_path, escape_version, unescape_path, unescape_version};
pub use import_meta::{ImportMeta, import_meta};
pub use incompatible::{latest, visible_incompatible};
pub use mod_file::{GoMod, MAX_GO_MOD, Problem, Retraction, TooLarge};
pub use module_path::{InvalidPath, PathMajor, check_path, split_major};
pub use pseudo::is_pseudo_version;
pub use resolve::{ImportRoot, ModuleVersion, PathOrigin, Rejection, TaggedFiles, resolve};
pub use semver::Semver;
pub use tag::{TagFault, VersionTag};
