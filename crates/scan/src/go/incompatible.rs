//! Rules over all versions of one module path.

use super::Semver;

/// Which of a module's `+incompatible` candidates a version listing shows.
///
/// `tagged` holds the versions of a path without major suffix, each with
/// whether its tag has a go.mod at the root: v0 and v1 as they are, higher ones
/// without the `+incompatible` they would get. The answer is the candidates to
/// show, in order and without that suffix.
///
/// A module whose newest v0 or v1 has a go.mod has moved to the rules of
/// modules: none of its older majors are shown. A major whose newest version has
/// a go.mod is not shown either, not even the versions before that file came.
pub fn visible_incompatible<'a>(tagged: &[(&'a str, bool)]) -> Vec<&'a str> {
    let mut versions: Vec<(Semver<'a>, &'a str, bool)> = tagged
        .iter()
        .filter_map(|&(text, has_go_mod)| Some((Semver::parse(text)?, text, has_go_mod)))
        .collect();
    versions.sort();
    let (compatible, higher): (Vec<_>, Vec<_>) = versions
        .into_iter()
        .partition(|(version, ..)| !version.needs_suffix());
    if compatible
        .last()
        .is_some_and(|&(.., has_go_mod)| has_go_mod)
    {
        return Vec::new();
    }
    higher
        .chunk_by(|(a, ..), (b, ..)| a.major_word() == b.major_word())
        .filter(|major| major.last().is_some_and(|&(.., has_go_mod)| !has_go_mod))
        .flatten()
        .map(|&(_, text, _)| text)
        .collect()
}

/// The version whose go.mod speaks for the module: the highest release, else
/// the highest pre-release.
pub fn latest<'a>(versions: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    versions
        .into_iter()
        .filter_map(|text| Some((Semver::parse(text)?, text)))
        .max_by_key(|(version, _)| (!version.is_prerelease(), *version))
        .map(|(_, text)| text)
}
