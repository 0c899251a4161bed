//! Which sources can be asked about a repository.

use facts::distribution::source;
use store::{repositories::Repository, sources::SourceState};

/// The hosts whose projects deps.dev knows.
const KNOWN_TO_DEPSDEV: &[&str] = &["github.com", "gitlab.com", "bitbucket.org"];
/// The forges whose releases, packages and trees can be asked for.
const FORGES: &[&str] = &["github", "gitlab", "gitea"];

/// The sources that the operator has not switched off.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one switch for each source, as the configuration has them"
)]
pub struct SwitchedOn {
    /// deps.dev.
    pub depsdev: bool,
    /// ecosyste.ms.
    pub ecosystems: bool,
    /// Releases of the forge.
    pub releases: bool,
    /// Packages of the forge.
    pub packages: bool,
    /// The tree.
    pub manifests: bool,
    /// Ask ecosyste.ms also where deps.dev knows packages.
    pub cross_check: bool,
}

impl Default for SwitchedOn {
    fn default() -> Self {
        Self {
            depsdev: true,
            ecosystems: true,
            releases: true,
            packages: true,
            manifests: true,
            cross_check: true,
        }
    }
}

impl SwitchedOn {
    /// The sources of this repository: those that apply to where it lies, and those that have
    /// answered anyway. `known` tells whether deps.dev knows packages of it.
    pub fn sources(
        &self,
        repository: &Repository,
        states: &[SourceState],
        known: bool,
    ) -> Vec<&'static str> {
        let remote = !repository.local;
        let forge = FORGES.contains(&repository.forge.as_str());
        let by_url = KNOWN_TO_DEPSDEV.contains(&repository.host.as_str());
        let skipped = known && !self.cross_check;
        [
            (source::DEPSDEV, self.depsdev, by_url),
            (source::ECOSYSTEMS, self.ecosystems, remote && !skipped),
            (source::RELEASES, self.releases, forge),
            (source::PACKAGES, self.packages, forge),
            // Where no forge can be asked, git can.
            (source::MANIFESTS, self.manifests, true),
        ]
        .into_iter()
        .filter(|(word, on, applies)| {
            *on && (*applies || states.iter().any(|state| state.source == *word))
        })
        .map(|(word, ..)| word)
        .collect()
    }
}
