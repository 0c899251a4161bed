//! Wheels: the directory of the zip, and three small members of it.
//!
//! RECORD lists the files too, but it grows with them and says nothing that the
//! directory does not.

use super::distribution::{Contents, top_level};
use super::entry_points::EntryPoint;
use super::fetched::Fetched;
use super::filename::Filename;
use super::metadata::CoreMetadata;
use super::modules::wheel_modules;
use super::normalize_name;
use super::refusal::{Limits, ReadError, Refusal};
use super::zip_archive::{Member, Zip};

pub(super) fn read(
    filename: &Filename,
    fetched: &Fetched<'_>,
    limits: &Limits,
) -> Result<Contents, ReadError> {
    let zip = Zip::open(fetched, limits)?;
    let directory = metadata_directory(&zip, filename).ok_or(Refusal::NoMetadata)?;
    let find = |name: &str| {
        let path = format!("{directory}/{name}");
        // Of members with one name, Python takes the last.
        zip.members.iter().rfind(|member| member.path == path)
    };
    let metadata = find("METADATA").ok_or(Refusal::NoMetadata)?;
    let others = [find("entry_points.txt"), find("top_level.txt")];
    let wanted: Vec<&Member> = [Some(metadata)]
        .iter()
        .chain(&others)
        .flatten()
        .copied()
        .collect();
    zip.announce(&wanted)?;
    let read = |member: Option<&Member>| member.map(|member| zip.read(member)).transpose();
    let metadata = CoreMetadata::parse(&zip.read(metadata)?);
    let entry_points = read(others[0])?
        .map(|bytes| EntryPoint::parse_all(&bytes))
        .unwrap_or_default();
    let top_level = read(others[1])?
        .map(|bytes| top_level(&bytes))
        .unwrap_or_default();
    let listing: Vec<String> = zip
        .members
        .iter()
        .map(|member| member.path.clone())
        .collect();
    Ok(Contents {
        requires_dist: metadata.requires_dist.clone(),
        extras: metadata.extras.clone(),
        metadata: Some(metadata),
        modules: wheel_modules(listing.iter().map(String::as_str)),
        top_level,
        entry_points,
        listing,
    })
}

/// The `.dist-info` that is the wheel's own; packages may carry others inside
/// of their data, and broken tools leave a second one beside it.
fn metadata_directory(zip: &Zip<'_, '_>, filename: &Filename) -> Option<String> {
    let mut directories: Vec<&str> = zip
        .members
        .iter()
        .filter_map(|member| member.path.strip_suffix("/METADATA"))
        .filter(|directory| directory.ends_with(".dist-info") && !directory.contains('/'))
        .collect();
    directories.sort_unstable();
    let own = |directory: &&&str| {
        let stem = directory.strip_suffix(".dist-info").unwrap_or(directory);
        let name = stem.rsplit_once('-').map_or(stem, |(name, _)| name);
        normalize_name(name) == filename.normalized_name()
    };
    directories
        .iter()
        .find(own)
        .or(directories.first())
        .map(|directory| (*directory).to_owned())
}
