//! Reading tags: the trees they lead to, the go.mod files in them, and what Go makes of those.

use std::collections::{BTreeSet, HashMap};

use db::{Db, Timestamp};
use engine::RunError;
use scan::go::{
    GoMod, ImportRoot, ModuleVersion, PathOrigin, TagFault, TaggedFiles, VersionTag, resolve,
};
use store::goindex::{self, NewTag, NewVersion};

use crate::git::{
    Blob, EntryKind, GitError,
    remote::{Contents, Fetched, Ref, Remote, RemoteError, Want},
};

/// A tag as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// Without `refs/tags/`.
    pub(super) name: String,
    /// What it points at: an annotated tag, or what it leads to.
    id: String,
    /// What it leads to in the end.
    pub(super) target: String,
}

/// A tag that was read.
#[derive(Clone, Debug)]
pub(super) struct ReadTag {
    pub(super) tag: NewTag,
    pub(super) versions: Vec<NewVersion>,
}

/// What reading some tags came to.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) tags: Vec<ReadTag>,
    /// go.mod files that were not known, by their ids.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// Tags of which a file could not be had: nothing is said about them.
    pub(super) unknown: usize,
    pub(super) requests: usize,
}

/// Why tags could not be read.
pub(super) enum Failed {
    Remote(RemoteError),
    Run(RunError),
}

impl From<RemoteError> for Failed {
    fn from(error: RemoteError) -> Self {
        Self::Remote(error)
    }
}

impl From<GitError> for Failed {
    fn from(error: GitError) -> Self {
        Self::Remote(error.into())
    }
}

impl From<db::DbError> for Failed {
    fn from(error: db::DbError) -> Self {
        Self::Run(error.into())
    }
}

impl Tag {
    pub(super) fn of(one: Ref) -> Option<Self> {
        let name = one.name.strip_prefix("refs/tags/")?.to_owned();
        let target = one.peeled.unwrap_or_else(|| one.id.clone());
        Some(Self {
            name,
            id: one.id,
            target,
        })
    }
}

impl ReadTag {
    /// A tag whose name tells that it is no version.
    pub(super) fn nothing((tag, fault): (Tag, TagFault)) -> Self {
        let rejection = scan::go::Rejection::from(fault);
        let mut read = Self::of(&tag);
        read.reject(rejection.code(), rejection.to_string());
        read
    }

    fn of(tag: &Tag) -> Self {
        Self {
            tag: NewTag {
                name: tag.name.clone(),
                commit: None,
                object: tag.target.clone(),
                committed_at: None,
                top_go_mod: None,
                rejection: None,
            },
            versions: Vec::new(),
        }
    }

    fn reject(&mut self, code: &'static str, why: String) {
        self.tag.rejection = Some((code, why));
    }
}

/// Reads tags that are grouped by what they lead to: one fetch of trees, one of files.
pub(super) async fn read(
    remote: &Remote,
    roots: &[ImportRoot],
    groups: &[Vec<Tag>],
    db: &Db,
) -> Result<Read, Failed> {
    // Annotated tags lead to their commits, and are allowed where a bare id may not be.
    let wants: Vec<Want> = groups
        .iter()
        .filter_map(|tags| tags.first())
        .map(|tag| Want::Id(tag.id.clone()))
        .collect();
    let fetched = remote.fetch(&wants, Contents::Blobless).await?;
    let mut read = Read {
        requests: fetched.requests,
        ..Read::default()
    };
    let mut trees = Vec::with_capacity(groups.len());
    for (tags, commit) in groups.iter().zip(&fetched.commits) {
        trees.push(match commit {
            Some(commit) => Some(Tree::read(&fetched, commit, tags).await?),
            None => None,
        });
    }
    let commits: Vec<&str> = fetched
        .commits
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let times = fetched.local().commit_times(&commits).await?;
    let files = files(&fetched, &trees, db, &mut read).await?;

    for (tags, tree) in groups.iter().zip(&trees) {
        for tag in tags {
            let mut one = ReadTag::of(tag);
            let Some(tree) = tree else {
                one.reject("not-a-commit", "the tag leads to no commit".to_owned());
                read.tags.push(one);
                continue;
            };
            let time = times.get(&tree.commit);
            one.tag.commit = Some(tree.commit.clone());
            one.tag.committed_at =
                time.map(|time| Timestamp::from_micros(time.saturating_mul(1_000_000)));
            if tree.decide(&mut one, tag, roots, &files) {
                read.tags.push(one);
            } else {
                read.unknown += 1;
            }
        }
    }
    Ok(read)
}

/// What of a commit's tree decides about its tags.
struct Tree {
    commit: String,
    /// Paths of go.mod files to their ids.
    go_mods: HashMap<String, String>,
    /// Whether there is any Go in it.
    has_go: bool,
}

/// A go.mod file as far as it could be had.
enum File {
    Parsed(Box<GoMod>),
    TooLarge,
}

impl Tree {
    async fn read(fetched: &Fetched, commit: &str, tags: &[Tag]) -> Result<Self, Failed> {
        let mut wanted: BTreeSet<String> = BTreeSet::from(["go.mod".to_owned()]);
        for tag in tags {
            if let Ok(tag) = VersionTag::parse(&tag.name) {
                wanted.extend(tag.go_mod_paths());
            }
        }
        let mut has_go = false;
        let is_go = |path: &str| {
            let name = path.as_bytes();
            name.len() > 3 && name.ends_with(b".go")
        };
        let listed = fetched.local().tree(commit, |entry| {
            has_go |= is_go(&entry.path);
            entry.kind == EntryKind::File && wanted.contains(&entry.path)
        });
        let go_mods = listed.await?;
        Ok(Self {
            commit: commit.to_owned(),
            go_mods: go_mods
                .into_iter()
                .map(|entry| (entry.path, entry.id))
                .collect(),
            has_go,
        })
    }

    /// Says what the tag names; `false` if a file is not at hand and nothing can be said.
    fn decide(
        &self,
        one: &mut ReadTag,
        tag: &Tag,
        roots: &[ImportRoot],
        files: &HashMap<String, File>,
    ) -> bool {
        one.tag.top_go_mod = Some(self.go_mods.contains_key("go.mod"));
        let parsed = match VersionTag::parse(&tag.name) {
            Ok(parsed) => parsed,
            Err(fault) => {
                *one = ReadTag::nothing((tag.clone(), fault));
                return true;
            }
        };
        let ids: Vec<Option<&String>> = parsed
            .go_mod_paths()
            .iter()
            .map(|path| self.go_mods.get(path))
            .collect();
        let mut found = [None, None];
        for (place, id) in found.iter_mut().zip(&ids) {
            match id.map(|id| files.get(id)) {
                None => {}
                Some(None) => return false,
                Some(Some(File::TooLarge)) => {
                    one.reject("go-mod-too-large", "go.mod is too large".to_owned());
                    return true;
                }
                Some(Some(File::Parsed(file))) => *place = Some(file.as_ref()),
            }
        }
        let [at_prefix, at_major] = found;
        let tagged = TaggedFiles {
            at_prefix,
            at_major,
        };
        match resolve(roots, &parsed, tagged) {
            Err(rejection) => one.reject(rejection.code(), rejection.to_string()),
            Ok(mut named) => {
                // Any repository with such a tag would be a module by its path alone.
                named.retain(|version| version.has_go_mod || self.has_go);
                if named.is_empty() {
                    let why = "there is neither go.mod nor Go code at this tag";
                    one.reject("no-go-code", why.to_owned());
                }
                let version = |named: ModuleVersion| {
                    let lower = named.directory != parsed.prefix;
                    let id = ids.get(usize::from(lower)).copied().flatten();
                    new_version(named, tag, one.tag.committed_at, &self.commit, id)
                };
                one.versions = named.into_iter().map(version).collect();
            }
        }
        true
    }
}

fn new_version(
    named: ModuleVersion,
    tag: &Tag,
    committed_at: Option<Timestamp>,
    commit: &str,
    go_mod: Option<&String>,
) -> NewVersion {
    let (origin, root) = match named.origin {
        PathOrigin::Known { root } => ("known", root),
        PathOrigin::Vanity { root } => ("vanity", root),
        PathOrigin::VanitySubdirectory { root, .. } => ("vanity-subdirectory", root),
    };
    NewVersion {
        path: named.path,
        version: named.version,
        tag: tag.name.clone(),
        commit: commit.to_owned(),
        directory: named.directory,
        go_mod: go_mod.filter(|_| named.has_go_mod).cloned(),
        origin,
        root,
        committed_at,
    }
}

/// The go.mod files of these trees: those that are kept, and the others in one question.
async fn files(
    fetched: &Fetched,
    trees: &[Option<Tree>],
    db: &Db,
    read: &mut Read,
) -> Result<HashMap<String, File>, Failed> {
    let unique: BTreeSet<&str> = trees
        .iter()
        .flatten()
        .flat_map(|tree| tree.go_mods.values().map(String::as_str))
        .collect();
    let ids: Vec<&str> = unique.into_iter().collect();
    let mut found = HashMap::with_capacity(ids.len());
    let mut unkept = Vec::new();
    for ids in ids.chunks(500) {
        let kept = goindex::contents(db, ids).await?;
        unkept.extend(ids.iter().filter(|id| !kept.contains_key(**id)).copied());
        found.extend(kept.into_iter().map(|(id, body)| (id, parse(&body))));
    }
    if unkept.is_empty() {
        return Ok(found);
    }
    let completed = fetched.complete(&unkept).await?;
    read.requests += completed.requests;
    let mut fresh = Vec::new();
    fetched
        .local()
        .blobs(&unkept, |place, blob| match blob {
            Blob::Bytes(bytes) => fresh.push((unkept[place].to_owned(), Some(bytes))),
            Blob::TooLarge { .. } => fresh.push((unkept[place].to_owned(), None)),
            Blob::Missing => {}
        })
        .await?;
    for (id, body) in fresh {
        match body {
            Some(body) => {
                found.insert(id.clone(), parse(&body));
                read.files.push((id, body));
            }
            None => drop(found.insert(id, File::TooLarge)),
        }
    }
    Ok(found)
}

fn parse(body: &[u8]) -> File {
    match GoMod::read(body) {
        Ok(file) => File::Parsed(Box::new(file)),
        Err(_) => File::TooLarge,
    }
}
