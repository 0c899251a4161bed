//! Reading tags: the trees they lead to, the go.mod files in them, and what Go makes of those.

use std::collections::{BTreeSet, HashMap};

use db::{Db, DbError, Timestamp};
use engine::RunError;
use scan::go::{GoMod, ModuleVersion, TagFault, TaggedFiles, VersionTag, resolve};
use store::goindex::{self, NewTag, NewVersion};

use super::{
    api::Api,
    paths::{Paths, Verdict},
};
use crate::{
    forge::NoAnswer,
    git::{
        Blob, EntryKind, GitError,
        remote::{Contents, Fetched, Ref, Remote, RemoteError, Want},
    },
};

/// Who tells of a repository's tags.
#[derive(Debug)]
pub(super) enum Source {
    Git(Remote),
    Api(Api),
}

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
    Forge(NoAnswer),
    Run(RunError),
}

impl From<RemoteError> for Failed {
    fn from(error: RemoteError) -> Self {
        Self::Remote(error)
    }
}

impl From<NoAnswer> for Failed {
    fn from(why: NoAnswer) -> Self {
        Self::Forge(why)
    }
}

impl From<GitError> for Failed {
    fn from(error: GitError) -> Self {
        Self::Remote(error.into())
    }
}

impl From<DbError> for Failed {
    fn from(error: DbError) -> Self {
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

/// What was fetched of some tags, before anything is said about them.
#[derive(Default)]
pub(super) struct Gathered {
    /// Of each group of tags; none for one that leads to no commit.
    pub(super) trees: Vec<Option<Tree>>,
    /// Of commits.
    pub(super) times: HashMap<String, Timestamp>,
    /// go.mod files, by their ids.
    pub(super) files: HashMap<String, File>,
    /// Those that were not known.
    pub(super) fresh: Vec<(String, Vec<u8>)>,
    pub(super) requests: usize,
}

/// Reads tags that are grouped by what they lead to.
pub(super) async fn read(
    source: &Source,
    paths: &mut Paths,
    groups: &[Vec<Tag>],
    db: &Db,
) -> Result<Read, Failed> {
    let gathered = match source {
        Source::Git(remote) => gather(remote, groups, db).await?,
        Source::Api(api) => api.gather(groups, db).await?,
    };
    let mut read = Read {
        files: gathered.fresh,
        requests: gathered.requests,
        ..Read::default()
    };
    for (tags, tree) in groups.iter().zip(&gathered.trees) {
        for tag in tags {
            let mut one = ReadTag::of(tag);
            let Some(tree) = tree else {
                one.reject("not-a-commit", "the tag leads to no commit".to_owned());
                read.tags.push(one);
                continue;
            };
            one.tag.commit = Some(tree.commit.clone());
            one.tag.committed_at = gathered.times.get(&tree.commit).copied();
            match tree.decide(&mut one, tag, paths, &gathered.files) {
                Decided::Yes => read.tags.push(one),
                Decided::NoFile => read.unknown += 1,
                Decided::NoAnswer => {}
            }
        }
    }
    Ok(read)
}

/// One fetch of trees, one of files.
async fn gather(remote: &Remote, groups: &[Vec<Tag>], db: &Db) -> Result<Gathered, Failed> {
    // Annotated tags lead to their commits, and are allowed where a bare id may not be.
    let wants: Vec<Want> = groups
        .iter()
        .filter_map(|tags| tags.first())
        .map(|tag| Want::Id(tag.id.clone()))
        .collect();
    let fetched = remote.fetch(&wants, Contents::Blobless).await?;
    let mut gathered = Gathered {
        requests: fetched.requests,
        ..Gathered::default()
    };
    for (tags, commit) in groups.iter().zip(&fetched.commits) {
        gathered.trees.push(match commit {
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
    let moment = |second: i64| Timestamp::from_micros(second.saturating_mul(1_000_000));
    gathered.times = times
        .into_iter()
        .map(|(commit, second)| (commit, moment(second)))
        .collect();
    files(&fetched, &mut gathered, db).await?;
    Ok(gathered)
}

/// What of a commit's tree decides about its tags.
pub(super) struct Tree {
    pub(super) commit: String,
    /// Paths of go.mod files to their ids.
    pub(super) go_mods: HashMap<String, String>,
    /// Whether there is any Go in it.
    pub(super) has_go: bool,
}

/// Whether it can be said what a tag names.
enum Decided {
    Yes,
    /// A file is not at hand.
    NoFile,
    /// Nobody has answered for its path.
    NoAnswer,
}

const NO_GO_CODE: &str = "there is neither go.mod nor Go code at this tag";

/// A go.mod file as far as it could be had.
pub(super) enum File {
    Parsed(Box<GoMod>),
    TooLarge,
}

impl Tree {
    /// The go.mod files that decide about these tags.
    pub(super) fn wanted(tags: &[Tag]) -> BTreeSet<String> {
        let mut wanted: BTreeSet<String> = BTreeSet::from(["go.mod".to_owned()]);
        for tag in tags {
            if let Ok(tag) = VersionTag::parse(&tag.name) {
                wanted.extend(tag.go_mod_paths());
            }
        }
        wanted
    }

    pub(super) fn is_go(path: &str) -> bool {
        let name = path.as_bytes();
        name.len() > 3 && name.ends_with(b".go")
    }

    async fn read(fetched: &Fetched, commit: &str, tags: &[Tag]) -> Result<Self, Failed> {
        let wanted = Self::wanted(tags);
        let mut has_go = false;
        let listed = fetched.local().tree(commit, |entry| {
            has_go |= Self::is_go(&entry.path);
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

    /// Says what the tag names, if that can be said.
    fn decide(
        &self,
        one: &mut ReadTag,
        tag: &Tag,
        paths: &mut Paths,
        files: &HashMap<String, File>,
    ) -> Decided {
        one.tag.top_go_mod = Some(self.go_mods.contains_key("go.mod"));
        let parsed = match VersionTag::parse(&tag.name) {
            Ok(parsed) => parsed,
            Err(fault) => {
                *one = ReadTag::nothing((tag.clone(), fault));
                return Decided::Yes;
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
                Some(None) => return Decided::NoFile,
                Some(Some(File::TooLarge)) => {
                    one.reject("go-mod-too-large", "go.mod is too large".to_owned());
                    return Decided::Yes;
                }
                Some(Some(File::Parsed(file))) => *place = Some(file.as_ref()),
            }
        }
        let [at_prefix, at_major] = found;
        let tagged = TaggedFiles {
            at_prefix,
            at_major,
        };
        let named = match resolve(paths.roots(), &parsed, tagged) {
            Ok(named) => named,
            Err(rejection) => {
                one.reject(rejection.code(), rejection.to_string());
                return Decided::Yes;
            }
        };
        let mut against = ("no-go-code", NO_GO_CODE.to_owned());
        for version in named {
            // Any repository with such a tag would be a module by its path alone.
            if !version.has_go_mod && !self.has_go {
                continue;
            }
            match paths.judge(&version) {
                Verdict::Yes => {}
                Verdict::No(word, why) => {
                    against = (word, why);
                    continue;
                }
                Verdict::Unknown => return Decided::NoAnswer,
            }
            let lower = version.directory != parsed.prefix;
            let go_mod = ids.get(usize::from(lower)).copied().flatten();
            let go_mod = go_mod.filter(|_| version.has_go_mod).cloned();
            let new = self.version(version, go_mod, one, paths);
            one.versions.push(new);
        }
        if one.versions.is_empty() {
            one.reject(against.0, against.1);
        }
        Decided::Yes
    }

    fn version(
        &self,
        named: ModuleVersion,
        go_mod: Option<String>,
        tag: &ReadTag,
        paths: &Paths,
    ) -> NewVersion {
        let (origin, root) = paths.origin(named.origin);
        NewVersion {
            path: named.path,
            version: named.version,
            tag: tag.tag.name.clone(),
            commit: self.commit.clone(),
            directory: named.directory,
            go_mod,
            origin,
            root,
            committed_at: tag.tag.committed_at,
        }
    }
}

impl Gathered {
    /// Takes over the go.mod files of the trees that are kept; answers the ids of the others.
    pub(super) async fn take_kept(&mut self, db: &Db) -> Result<Vec<String>, DbError> {
        let unique: BTreeSet<&str> = self
            .trees
            .iter()
            .flatten()
            .flat_map(|tree| tree.go_mods.values().map(String::as_str))
            .collect();
        let ids: Vec<&str> = unique.into_iter().collect();
        let mut unkept = Vec::new();
        for ids in ids.chunks(500) {
            let kept = goindex::contents(db, ids).await?;
            let others = ids.iter().filter(|id| !kept.contains_key(**id));
            unkept.extend(others.map(|id| (*id).to_owned()));
            let parsed = kept.into_iter().map(|(id, body)| (id, parse(&body)));
            self.files.extend(parsed);
        }
        Ok(unkept)
    }
}

/// The go.mod files of these trees: those that are kept, and the others in one question.
async fn files(fetched: &Fetched, gathered: &mut Gathered, db: &Db) -> Result<(), Failed> {
    let unkept = gathered.take_kept(db).await?;
    if unkept.is_empty() {
        return Ok(());
    }
    let unkept: Vec<&str> = unkept.iter().map(String::as_str).collect();
    let completed = fetched.complete(&unkept).await?;
    gathered.requests += completed.requests;
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
                gathered.files.insert(id.clone(), parse(&body));
                gathered.fresh.push((id, body));
            }
            None => drop(gathered.files.insert(id, File::TooLarge)),
        }
    }
    Ok(())
}

pub(super) fn parse(body: &[u8]) -> File {
    match GoMod::read(body) {
        Ok(file) => File::Parsed(Box::new(file)),
        Err(_) => File::TooLarge,
    }
}
