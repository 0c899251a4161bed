//! Requirement strings, by the grammar of PEP 508.
//!
//! The published parser of this grammar keeps every marker it has ever seen for
//! the life of the process; a crawl of millions of files cannot afford that, and
//! an index only needs to know the parts and whether the string is sound.

use super::marker::check_marker;
use super::project_name::is_valid_name;
use super::version::is_version_specifier;

/// The parts of a sound requirement, each as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement<'a> {
    pub name: &'a str,
    pub extras: Vec<&'a str>,
    /// `>=1,<2`, without parentheses; empty when any version will do.
    pub versions: &'a str,
    pub url: Option<&'a str>,
    pub marker: Option<&'a str>,
}

/// What is wrong with a requirement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequirementFault {
    #[error("it is longer than {MAX_REQUIREMENT} bytes")]
    TooLong,
    #[error("it does not begin with a project's name")]
    Name,
    #[error("its extras are not closed or not names")]
    Extras,
    #[error("{0:?} is not a list of versions")]
    Versions(String),
    #[error("its address is missing")]
    Url,
    #[error("its marker {0:?} cannot be read")]
    Marker(String),
}

const MAX_REQUIREMENT: usize = 16 * 1024;

impl<'a> Requirement<'a> {
    pub fn parse(text: &'a str) -> Result<Self, RequirementFault> {
        if text.len() > MAX_REQUIREMENT {
            return Err(RequirementFault::TooLong);
        }
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'));
        let (name, rest) = text.split_at(end.unwrap_or(text.len()));
        if !is_valid_name(name) {
            return Err(RequirementFault::Name);
        }
        let (extras, rest) = extras(rest.trim_start())?;
        if let Some(rest) = rest.trim_start().strip_prefix('@') {
            return Self::with_url(name, extras, rest.trim_start());
        }
        let (versions, marker) = match rest.split_once(';') {
            Some((versions, marker)) => (versions.trim(), Some(marker.trim())),
            None => (rest.trim(), None),
        };
        let bare = versions
            .strip_prefix('(')
            .and_then(|inner| inner.strip_suffix(')'));
        let versions = bare.unwrap_or(versions).trim();
        if !versions.is_empty() && !is_version_specifier(versions) {
            return Err(RequirementFault::Versions(shown(versions)));
        }
        let marker = marker.map(sound_marker).transpose()?;
        Ok(Requirement {
            name,
            extras,
            versions,
            url: None,
            marker,
        })
    }

    /// After `@` the address runs to the next space, as a marker may contain `;` too.
    fn with_url(
        name: &'a str,
        extras: Vec<&'a str>,
        rest: &'a str,
    ) -> Result<Self, RequirementFault> {
        let (url, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if url.is_empty() {
            return Err(RequirementFault::Url);
        }
        let marker = match rest.trim() {
            "" => None,
            rest => {
                let marker = rest
                    .strip_prefix(';')
                    .ok_or_else(|| RequirementFault::Marker(shown(rest)))?;
                Some(sound_marker(marker.trim())?)
            }
        };
        Ok(Requirement {
            name,
            extras,
            versions: "",
            url: Some(url),
            marker,
        })
    }
}

fn extras(rest: &str) -> Result<(Vec<&str>, &str), RequirementFault> {
    let Some(inner) = rest.strip_prefix('[') else {
        return Ok((Vec::new(), rest));
    };
    let (inner, rest) = inner.split_once(']').ok_or(RequirementFault::Extras)?;
    if inner.trim().is_empty() {
        return Ok((Vec::new(), rest));
    }
    let extras: Vec<&str> = inner.split(',').map(str::trim).collect();
    if extras.iter().all(|extra| is_valid_name(extra)) {
        Ok((extras, rest))
    } else {
        Err(RequirementFault::Extras)
    }
}

fn sound_marker(marker: &str) -> Result<&str, RequirementFault> {
    if check_marker(marker) {
        Ok(marker)
    } else {
        Err(RequirementFault::Marker(shown(marker)))
    }
}

fn shown(text: &str) -> String {
    text.chars().take(120).collect()
}
