//! The manifests of a repository on a host that has no API: through git itself.
//!
//! One commit with its trees is fetched, and then only those contents that nobody has fetched
//! before. All of it goes into a directory that is gone afterwards: what is worth keeping is kept
//! as contents by their ids, and the next visit is half a year away.

use std::collections::{BTreeSet, HashMap};

use scan::manifest;

use super::{
    MAX_MANIFESTS, Snapshot,
    read::{Reading, is_manifest},
    remote::Cellar,
};
use crate::{
    forge::Looked,
    git::{
        Blob, Entry,
        remote::{Contents, Protocol, Remote, RemoteError, Remotes, Settings, Want},
    },
    http::Way,
};

/// Reads the manifests on the default branch of the repository at this path of a host.
pub(super) async fn read(
    way: &Way,
    path: &str,
    cellar: &Cellar<'_>,
) -> Result<Looked<Snapshot>, RemoteError> {
    let directory = tempfile::Builder::new()
        .prefix("gleaner-git-")
        .tempdir()
        .map_err(|source| RemoteError::Directory {
            path: std::env::temp_dir(),
            source,
        })?;
    let remotes = Remotes::open(settings(way, directory.path())).await?;
    // Some servers know a repository with the ending, some without, most with both.
    for ending in ["", ".git"] {
        let remote = remotes.remote(&format!("{}/{path}{ending}", way.base))?;
        match read_from(&remote, cellar).await {
            Err(error) if error.is_absent() => {}
            answer => return answer,
        }
    }
    Ok(Looked::Missing)
}

fn settings(way: &Way, directory: &std::path::Path) -> Settings {
    let mut settings = Settings::new(directory, &way.user_agent);
    // Whoever configured an address wants it asked, as it stands.
    if way.base.starts_with("http://") {
        settings.protocols = BTreeSet::from([Protocol::Http]);
    }
    if way.may_be_private
        && let Ok(base) = url::Url::parse(&way.base)
        && let Some(host) = base.host_str()
    {
        settings.private_hosts.insert(host.to_owned());
    }
    settings
}

async fn read_from(remote: &Remote, cellar: &Cellar<'_>) -> Result<Looked<Snapshot>, RemoteError> {
    let refs = remote.refs(&["HEAD", "refs/heads/"]).await?;
    let Some(head) = refs.head.filter(|head| head.id.is_some()) else {
        return if refs.refs.is_empty() {
            Ok(Looked::Empty)
        } else {
            // There are branches, and nobody says which one counts.
            Err(RemoteError::Damaged {
                url: remote.url().to_owned(),
                message: "its HEAD leads nowhere".to_owned(),
            })
        };
    };
    let fetched = remote.fetch(&[Want::Head], Contents::Blobless).await?;
    let Some(commit) = fetched.commit() else {
        return Err(RemoteError::Damaged {
            url: remote.url().to_owned(),
            message: "its HEAD leads to no commit".to_owned(),
        });
    };
    let mut entries = fetched.local().tree(commit, is_manifest).await?;
    let too_many = entries.len().saturating_sub(MAX_MANIFESTS);
    entries.truncate(MAX_MANIFESTS);

    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let kept = cellar.kept.take_up(cellar.db, &ids, cellar.now).await;
    let (mut wanted, mut fresh): (Vec<&str>, Vec<(String, Vec<u8>)>) = (ids, Vec::new());
    wanted.retain(|id| !kept.contains_key(*id));
    wanted.sort_unstable();
    wanted.dedup();
    let completed = fetched.complete(&wanted).await?;
    wanted.retain(|id| !completed.missing.iter().any(|missing| missing == id));
    let mut blobs: HashMap<&str, Blob> = HashMap::new();
    fetched
        .local()
        .blobs(&wanted, |place, blob| {
            blobs.insert(wanted[place], blob);
        })
        .await?;
    for (id, blob) in &blobs {
        if let Blob::Bytes(bytes) = blob {
            fresh.push(((*id).to_owned(), bytes.clone()));
        }
    }
    cellar.kept.keep(cellar.db, &fresh, cellar.now).await;

    let mut reading = Reading::default();
    for entry in &entries {
        reading.take(entry, blob(entry, &kept, &blobs));
    }
    let short = |branch: String| branch.trim_start_matches("refs/heads/").to_owned();
    let mut snapshot = reading.finish(commit.to_owned(), head.branch.map(short));
    snapshot.left_out += too_many;
    Ok(Looked::Here(snapshot))
}

/// Equal files have one id, so what is taken must stay for the next.
fn blob(entry: &Entry, kept: &HashMap<String, Vec<u8>>, fetched: &HashMap<&str, Blob>) -> Blob {
    if let Some(bytes) = kept.get(&entry.id) {
        return Blob::Bytes(bytes.clone());
    }
    match fetched.get(entry.id.as_str()) {
        Some(Blob::Bytes(bytes)) if bytes.len() > manifest::MAX_BYTES => Blob::TooLarge {
            bytes: bytes.len() as u64,
        },
        Some(blob) => blob.clone(),
        None => Blob::Missing,
    }
}
