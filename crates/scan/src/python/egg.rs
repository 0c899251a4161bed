//! Eggs: what wheels replaced. The same zip, with `EGG-INFO` at its top.

use super::distribution::{Contents, top_level};
use super::entry_points::EntryPoint;
use super::fetched::Fetched;
use super::metadata::CoreMetadata;
use super::modules::egg_modules;
use super::refusal::{Limits, ReadError};
use super::requires_txt::RequiresTxt;
use super::zip_archive::{Member, Zip};

pub(super) fn read(fetched: &Fetched<'_>, limits: &Limits) -> Result<Contents, ReadError> {
    let zip = Zip::open(fetched, limits)?;
    let find = |name: &str| zip.members.iter().rfind(|member| member.path == name);
    let names = [
        "PKG-INFO",
        "requires.txt",
        "entry_points.txt",
        "top_level.txt",
    ];
    let files = names.map(|name| find(&format!("EGG-INFO/{name}")));
    let wanted: Vec<&Member> = files.iter().flatten().copied().collect();
    zip.announce(&wanted)?;
    let read = |member: Option<&Member>| member.map(|member| zip.read(member)).transpose();
    let metadata = read(files[0])?.map(|bytes| CoreMetadata::parse(&bytes));
    let requires = read(files[1])?
        .map(|bytes| RequiresTxt::parse(&bytes))
        .unwrap_or_default();
    let entry_points = read(files[2])?
        .map(|bytes| EntryPoint::parse_all(&bytes))
        .unwrap_or_default();
    let top_level = read(files[3])?
        .map(|bytes| top_level(&bytes))
        .unwrap_or_default();
    let listing: Vec<String> = zip
        .members
        .iter()
        .map(|member| member.path.clone())
        .collect();
    let modules = egg_modules(listing.iter().map(String::as_str));
    Ok(Contents {
        modules,
        top_level,
        entry_points,
        listing,
        ..with_requirements(metadata, requires)
    })
}

/// Requirements from the metadata where it has any, else from `requires.txt`.
pub(super) fn with_requirements(metadata: Option<CoreMetadata>, file: RequiresTxt) -> Contents {
    let mut contents = Contents::default();
    if let Some(metadata) = &metadata {
        contents.requires_dist.clone_from(&metadata.requires_dist);
        contents.extras.clone_from(&metadata.extras);
    }
    let settled = metadata
        .as_ref()
        .is_some_and(|metadata| metadata.is_settled("Requires-Dist"));
    if contents.requires_dist.is_empty() && !settled {
        contents.requires_dist = file.requires_dist;
    }
    if contents.extras.is_empty() && !settled {
        contents.extras = file.extras;
    }
    contents.metadata = metadata;
    contents
}
