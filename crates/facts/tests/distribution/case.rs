//! A repository of which every source has told all, until told otherwise.

use facts::{
    distribution::{Gap, Judgement, NameCheck, Observed, SourceAnswer, Verdict, judge},
    evidence::Evidence,
    manifest::{Intent, ManifestFact},
};

/// A repository on GitHub of which every source has told all, until told otherwise.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) evidence: Vec<(&'static str, Evidence)>,
    pub(crate) manifests: Vec<ManifestFact>,
    pub(crate) sources: Vec<SourceAnswer>,
    pub(crate) checks: Vec<NameCheck>,
}

pub(crate) fn case() -> Case {
    let sources = ["depsdev", "ecosystems", "manifests", "packages", "releases"];
    Case {
        evidence: Vec::new(),
        manifests: Vec::new(),
        sources: sources
            .into_iter()
            .map(|source| answer(source, true))
            .collect(),
        checks: Vec::new(),
    }
}

pub(crate) fn answer(source: &str, complete: bool) -> SourceAnswer {
    SourceAnswer {
        source: source.into(),
        complete,
        why: None,
    }
}

impl Case {
    pub(crate) fn published(mut self, source: &'static str, ecosystem: &str, name: &str) -> Self {
        self.evidence.push((source, package(ecosystem, name, "{}")));
        self
    }

    pub(crate) fn with(
        mut self,
        source: &'static str,
        ecosystem: &str,
        name: &str,
        attributes: &str,
    ) -> Self {
        self.evidence
            .push((source, package(ecosystem, name, attributes)));
        self
    }

    pub(crate) fn at(mut self, directory: &str) -> Self {
        self.evidence.last_mut().unwrap().1.path = Some(directory.into());
        self
    }

    pub(crate) fn declared(mut self, path: &str, kind: &str, name: &str) -> Self {
        self.manifests.push(manifest(path, kind, Some(name)));
        self
    }

    pub(crate) fn manifest(mut self, change: impl FnOnce(&mut ManifestFact)) -> Self {
        change(self.manifests.last_mut().unwrap());
        self
    }

    /// The registry has been asked for a name.
    pub(crate) fn check(
        mut self,
        ecosystem: &str,
        name: &str,
        verdict: Verdict,
        linked: Option<&str>,
    ) -> Self {
        self.checks.push(NameCheck {
            ecosystem: ecosystem.into(),
            name: name.into(),
            verdict,
            linked: linked.map(Into::into),
        });
        self
    }

    pub(crate) fn absent(self, ecosystem: &str, name: &str) -> Self {
        self.check(ecosystem, name, Verdict::Absent, None)
    }

    pub(crate) fn silent(mut self, source: &str) -> Self {
        self.sources
            .iter_mut()
            .find(|one| one.source == source)
            .unwrap()
            .complete = false;
        self
    }

    pub(crate) fn judge(&self) -> Judgement {
        let evidence: Vec<(&str, &Evidence)> = self
            .evidence
            .iter()
            .map(|(source, row)| (*source, row))
            .collect();
        let manifests: Vec<&ManifestFact> = self.manifests.iter().collect();
        judge(&Observed {
            forge: "github",
            owner: "meadow",
            evidence: &evidence,
            manifests: &manifests,
            sources: &self.sources,
            names_are_asked: true,
            checks: &self.checks,
        })
    }

    /// Gaps as `grade ecosystem name`.
    pub(crate) fn gaps(&self) -> Vec<String> {
        let told = |gap: &Gap| format!("{} {} {}", gap.grade.as_str(), gap.ecosystem, gap.name);
        self.judge().gaps.iter().map(told).collect()
    }

    /// Pairings as `ecosystem package path how confidence`.
    pub(crate) fn pairs(&self) -> Vec<String> {
        let judged = self.judge();
        let told = judged.pairings.iter().map(|pair| {
            let (how, sure) = (pair.how.as_str(), pair.confidence.as_str());
            format!(
                "{} {} {} {how} {sure}",
                pair.ecosystem, pair.package, pair.path
            )
        });
        told.collect()
    }
}

pub(crate) fn package(ecosystem: &str, name: &str, attributes: &str) -> Evidence {
    Evidence {
        ecosystem: ecosystem.into(),
        package: name.into(),
        attributes: attributes.parse().unwrap(),
        ..Evidence::default()
    }
}

pub(crate) fn manifest(path: &str, kind: &str, name: Option<&str>) -> ManifestFact {
    ManifestFact {
        name: name.map(Into::into),
        effective_name: name.map(Into::into),
        intent: Intent::Yes,
        ..ManifestFact::new(path, kind)
    }
}

pub(crate) const NONE: &[&str] = &[];
