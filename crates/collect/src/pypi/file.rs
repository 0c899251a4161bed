//! `pypi/file`: reads one distribution and writes down what it requires and provides.
//!
//! A file is read once for each version of the extractor. What was fetched to read it is kept, if
//! it is little, so that a newer extractor asks nobody. Whatever is wrong with a file (a bomb, a
//! name that leads out of the archive, other bytes than its hash says) is written down as the reason
//! for which it was refused, and the crawl goes on.

use std::time::Duration;

use engine::{Ending, Enqueue, Outcome, Run, RunError};
use scan::python::{Distribution, EXTRACTOR_VERSION, Refusal};
use serde::{Deserialize, Serialize};
use store::pypi::{self, Extraction, FileAsked, FileKind, FileWrite, Verdict};

use super::{
    IndexAddress, KeptParts, POOL, RemoteFault, RemoteFile, RemoteRead, Settings, Told, number,
    read_told,
};
use crate::{
    collector::{Collector, Need, kind},
    http::{Class, Http},
};

/// Reads distributions.
#[derive(Clone, Debug)]
pub struct PypiFile {
    http: Http,
    settings: Settings,
    /// The version that results are stamped with.
    extractor: i64,
}

/// A file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// Of this project, normalised.
    pub project: String,
    /// Its name.
    pub filename: String,
}

#[derive(Debug, Serialize)]
struct Report {
    came_to: String,
    bytes_fetched: u64,
    size: Option<u64>,
    from: &'static str,
}

/// The unit of a file that a page lists; none for what is never read.
pub(super) fn unit(address: &IndexAddress, project: &str, file: &FileWrite) -> Option<Enqueue> {
    match file.kind {
        FileKind::Wheel | FileKind::Egg | FileKind::Sdist => {
            Some(unit_at(address, project, &file.filename, &file.url))
        }
        FileKind::Installer | FileKind::Other => None,
    }
}

/// The unit of a file at an address.
pub fn unit_at(address: &IndexAddress, project: &str, filename: &str, url: &str) -> Enqueue {
    let subject = Subject {
        project: project.to_owned(),
        filename: filename.to_owned(),
    };
    let place = address.place(url);
    let upstream = place.map_or_else(|| address.upstream().to_owned(), |(upstream, _)| upstream);
    Enqueue::new(&kind::<PypiFile>(), format!("{project}/{filename}"))
        .upstream(upstream)
        .payload(serde_json::to_value(subject).unwrap_or_default())
}

impl PypiFile {
    /// Asks through this client.
    pub fn new(http: Http, settings: Settings) -> Self {
        Self {
            http,
            settings,
            extractor: Self::VERSION,
        }
    }

    /// Stamps results with another version, as a later release would.
    pub fn stamped(mut self, version: i64) -> Self {
        self.extractor = version;
        self
    }
}

impl Collector for PypiFile {
    const NAME: &'static str = "pypi/file";
    const SUMMARY: &'static str = "reads a distribution: what it requires, what can be imported";
    const VERSION: i64 = EXTRACTOR_VERSION as i64;
    const CADENCE: Option<Duration> = None;
    const POOL: &'static str = POOL;
    const MAX_RUN: Duration = super::MAX_RUN;
    const NEEDS: &'static [Need] = &[Need::Network];

    type Subject = Subject;
    type Cursor = ();

    async fn run(
        &self,
        subject: Subject,
        _cursor: Option<()>,
        cx: &Run,
    ) -> Result<Ending, RunError> {
        let Subject { project, filename } = &subject;
        let nothing = |why: &str| {
            let report = Report {
                came_to: why.to_owned(),
                bytes_fetched: 0,
                size: None,
                from: "nobody",
            };
            Ok(cx.end(Outcome::Done, report))
        };
        let Some(file) = pypi::file(cx.db(), project, filename).await? else {
            return nothing("it is not listed");
        };
        if file.out_of_reach {
            return nothing("it is no longer listed");
        }
        if !file.unread && file.extractor_version == Some(self.extractor) {
            return nothing("it was read before");
        }
        let address = self.settings.located(cx.db(), &self.http).await?;
        let Some((upstream, path)) = address.place(&file.url) else {
            let read = self.refused("address", "its address cannot be asked".into());
            return Ok(self.end(cx, file, read, None, "nobody"));
        };
        let remote = RemoteFile {
            upstream: &upstream,
            path: &path,
            filename,
            project: Some(project),
        };
        if let Some(read) = self.again(cx, &file, remote).await? {
            return Ok(self.end(cx, file, read, None, "kept parts"));
        }
        let session = self.http.for_run(cx);
        let told = Told {
            size: file.size.and_then(|size| u64::try_from(size).ok()),
            metadata: file.metadata_sha256.as_deref(),
        };
        match read_told(&session, remote, told, &self.settings.limits).await {
            Ok(Some(read)) => {
                let parts = read.parts.as_ref().and_then(KeptParts::packed);
                let extraction = self.judged(&file, read);
                Ok(self.end(cx, file, extraction, parts, "the index"))
            }
            Ok(None) => {
                let read = self.refused("absent", "the index lists it and does not have it".into());
                Ok(self.end(cx, file, read, None, "the index"))
            }
            Err(RemoteFault::TooLarge(mebibytes)) => {
                let why = format!("it has {mebibytes} MiB or more, which is too much to fetch");
                let read = self.refused("too-large", why);
                Ok(self.end(cx, file, read, None, "the index"))
            }
            Err(RemoteFault::Odd(why)) => Err(RunError::upstream(why)),
            Err(RemoteFault::Unknown(why)) => match why.class {
                Class::Address | Class::Redirect | Class::Settings => {
                    let read = self.refused("address", why.to_string());
                    Ok(self.end(cx, file, read, None, "the index"))
                }
                _ => why.end(cx, session.log()),
            },
        }
    }
}

impl PypiFile {
    /// Reads a file from what was kept of it.
    async fn again(
        &self,
        cx: &Run,
        file: &FileAsked,
        remote: RemoteFile<'_>,
    ) -> Result<Option<Extraction>, RunError> {
        let Some(sha256) = &file.sha256 else {
            return Ok(None);
        };
        let kept = pypi::kept(cx.db(), file.id, sha256).await?;
        let Some(parts) = kept.and_then(|packed| KeptParts::unpacked(&packed)) else {
            return Ok(None);
        };
        // Another part is missing: then all of it is asked for anew.
        let Ok(distribution) = parts.read_again(remote, &self.settings.limits) else {
            return Ok(None);
        };
        Ok(Some(Extraction {
            extractor_version: self.extractor,
            verdict: verdict(distribution),
            bytes_fetched: 0,
            size: i64::try_from(parts.size()).ok(),
            sha256: None,
        }))
    }

    fn judged(&self, file: &FileAsked, read: RemoteRead) -> Extraction {
        let sha256 = read.sha256.map(facts::hex::lower);
        let verdict = match (&file.sha256, &sha256) {
            (Some(told), Some(found)) if told != found => Verdict::Refused {
                code: "wrong-hash".into(),
                reason: format!("its SHA-256 is {found}, and should be {told}"),
            },
            _ => verdict(read.distribution),
        };
        Extraction {
            extractor_version: self.extractor,
            verdict,
            bytes_fetched: i64::try_from(read.bytes_fetched).unwrap_or(i64::MAX),
            size: i64::try_from(read.size).ok(),
            sha256,
        }
    }

    fn refused(&self, code: &str, reason: String) -> Extraction {
        Extraction {
            extractor_version: self.extractor,
            verdict: Verdict::Refused {
                code: code.to_owned(),
                reason,
            },
            bytes_fetched: 0,
            size: None,
            sha256: None,
        }
    }

    fn end(
        &self,
        cx: &Run,
        file: FileAsked,
        found: Extraction,
        parts: Option<Vec<u8>>,
        from: &'static str,
    ) -> Ending {
        let report = Report {
            came_to: match &found.verdict {
                Verdict::Read { modules, .. } => format!("{} modules", modules.len()),
                Verdict::Refused { code, .. } => code.clone(),
            },
            bytes_fetched: u64::try_from(found.bytes_fetched).unwrap_or_default(),
            size: found.size.and_then(|size| u64::try_from(size).ok()),
            from,
        };
        let now = cx.clock().now();
        let bound = self.settings.keep_bytes;
        let facts = (file, found, parts, now, bound);
        cx.finish(Outcome::Done, report, facts, |tx, facts| {
            Box::pin(async move {
                let (file, found, parts, now, bound) = facts;
                number::wake(tx, *now).await?;
                pypi::extracted(tx, file.id, file.sha256.as_deref(), found, *now).await?;
                let sha256 = file.sha256.as_ref().or(found.sha256.as_ref());
                if let (Some(parts), Some(sha256)) = (parts, sha256) {
                    pypi::keep(tx, file.id, sha256, parts, *bound).await?;
                }
                Ok(())
            })
        })
    }
}

fn verdict(read: Result<Distribution, Refusal>) -> Verdict {
    match read {
        Err(refusal) => Verdict::Refused {
            code: refusal.code().to_owned(),
            reason: refusal.to_string(),
        },
        Ok(read) => {
            let mut modules: Vec<String> = read.importable().map(str::to_owned).collect();
            modules.sort();
            modules.dedup();
            Verdict::Read {
                name: read.metadata.name.clone(),
                version: read.metadata.version.clone(),
                requires_python: read.metadata.requires_python.clone(),
                import_names: read.import_names(),
                modules,
                warnings: read.warnings.iter().map(ToString::to_string).collect(),
                requires_dist: read.requires_dist,
                extras: read.extras,
            }
        }
    }
}
