//! Readers: pin a generation, ask it, switch to a newer one without a pause.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{Dataset, DatasetError, Manifest, generation::newest, update::hash};
use crate::objects::Objects;

pub(super) const PINS: &str = "datasets/pins";
/// A pin that nobody renewed for so long was left behind by a process that died.
pub(super) const PIN_HOLDS: Duration = Duration::from_hours(24);
/// Pins are renewed after this.
const RENEW: Duration = Duration::from_hours(6);

/// The three files of a generation, open.
#[derive(Debug)]
pub struct Datasets {
    /// Files of projects.
    pub depgraph: Dataset,
    /// Import names.
    pub modules: Dataset,
    /// Who requires whom.
    pub dependents: Dataset,
}

impl Datasets {
    /// Opens the files that have these names.
    pub fn open(files: &BTreeMap<String, PathBuf>) -> Result<Self, DatasetError> {
        let open = |name: &str| match files.get(name) {
            Some(path) => Dataset::open(path),
            None => Err(DatasetError::Corrupt(format!("there is no file `{name}`"))),
        };
        Ok(Self {
            depgraph: open("depgraph")?,
            modules: open("modules")?,
            dependents: open("dependents")?,
        })
    }
}

/// A generation that somebody reads. It stays whole for as long as it is held, whatever is
/// published or collected meanwhile: its files are open.
#[derive(Debug)]
pub struct Generation {
    /// What it is.
    pub manifest: Manifest,
    /// Its files.
    pub datasets: Datasets,
    pin: Pin,
}

impl Generation {
    /// Opens a generation and pins it.
    pub async fn open(
        objects: &Objects,
        manifest: Manifest,
        cache: &Path,
    ) -> Result<Self, DatasetError> {
        // First, so that it is not collected while it is being opened.
        let pin = Pin::set(objects, manifest.generation).await?;
        let files = local_files(objects, &manifest, cache).await?;
        let open = tokio::task::spawn_blocking(move || Datasets::open(&files));
        let datasets = open.await.map_err(std::io::Error::from)??;
        Ok(Self {
            manifest,
            datasets,
            pin,
        })
    }

    /// The version of the data.
    pub fn number(&self) -> u64 {
        self.manifest.generation
    }
}

/// The newest generation, for all who ask in this process.
#[derive(Debug)]
pub struct Library {
    objects: Objects,
    /// Copies of files that are not on this machine.
    cache: PathBuf,
    current: RwLock<Option<Arc<Generation>>>,
    /// One look at a time.
    looking: tokio::sync::Mutex<Option<Instant>>,
    /// Between two looks for a newer generation.
    patience: Duration,
}

impl Library {
    /// Reads from `objects`; copies go to `cache`.
    pub fn new(objects: Objects, cache: impl Into<PathBuf>) -> Self {
        Self {
            objects,
            cache: cache.into(),
            current: RwLock::new(None),
            looking: tokio::sync::Mutex::new(None),
            patience: Duration::from_secs(30),
        }
    }

    /// Looks for a newer generation no more often than this.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The objects that it reads.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The generation to ask: the newest, as of at most [`Library::patience`] ago. None if there is
    /// none yet. If a newer one cannot be opened, the one that is open serves on.
    pub async fn current(&self) -> Result<Option<Arc<Generation>>, DatasetError> {
        let open = self.held();
        // While another looks, those who have one go on with it.
        let mut looked = match (&open, self.looking.try_lock()) {
            (_, Ok(looked)) => looked,
            (Some(_), Err(_)) => return Ok(open),
            (None, Err(_)) => self.looking.lock().await,
        };
        if looked.is_some_and(|at| at.elapsed() < self.patience) {
            return Ok(self.held());
        }
        match self.look().await {
            Ok(()) => {
                *looked = Some(Instant::now());
                Ok(self.held())
            }
            Err(error) => match open {
                Some(open) => {
                    *looked = Some(Instant::now());
                    tracing::warn!(%error, serving = open.number(), "a newer generation cannot be opened");
                    Ok(Some(open))
                }
                None => Err(error),
            },
        }
    }

    fn held(&self) -> Option<Arc<Generation>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    async fn look(&self) -> Result<(), DatasetError> {
        let mut last = None;
        // One that is collected while it is being opened is not the newest any more.
        for _ in 0..5 {
            let Some(manifest) = newest(&self.objects).await? else {
                return Ok(());
            };
            if let Some(held) = self.held()
                && held.number() == manifest.generation
            {
                return held.pin.renew(&self.objects).await;
            }
            match Generation::open(&self.objects, manifest, &self.cache).await {
                Ok(opened) => {
                    let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                    *current = Some(Arc::new(opened));
                    return Ok(());
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or(DatasetError::Busy))
    }
}

/// The files of a generation on this machine: as they are, or copied and held against their hash.
pub(super) async fn local_files(
    objects: &Objects,
    manifest: &Manifest,
    cache: &Path,
) -> Result<BTreeMap<String, PathBuf>, DatasetError> {
    let mut files = BTreeMap::new();
    for (name, file) in &manifest.files {
        let path = match objects.local_file(&file.name) {
            Some(path) => path,
            None => copy(objects, &file.name, &file.sha256, cache).await?,
        };
        files.insert(name.clone(), path);
    }
    Ok(files)
}

async fn copy(
    objects: &Objects,
    name: &str,
    sha256: &str,
    cache: &Path,
) -> Result<PathBuf, DatasetError> {
    let place = cache.join(sha256);
    if place.is_file() {
        return Ok(place);
    }
    std::fs::create_dir_all(cache)?;
    let beside = tempfile::NamedTempFile::new_in(cache)?.into_temp_path();
    if !objects.fetch(name, &beside).await? {
        let what = format!("`{name}` is no longer there");
        return Err(DatasetError::Corrupt(what));
    }
    let (path, wanted) = (beside.to_path_buf(), sha256.to_owned());
    let found = tokio::task::spawn_blocking(move || hash(&path));
    let found = found.await.map_err(std::io::Error::from)??;
    if found != wanted {
        let what = format!("`{name}` has the SHA-256 {found}");
        return Err(DatasetError::Corrupt(what));
    }
    beside
        .persist(&place)
        .map_err(|error| DatasetError::Local(error.error))?;
    Ok(place)
}

/// Says that somebody reads a generation; taken back when it is dropped.
#[derive(Debug)]
struct Pin {
    objects: Objects,
    name: String,
    set: std::sync::Mutex<Instant>,
}

impl Pin {
    async fn set(objects: &Objects, generation: u64) -> Result<Self, DatasetError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // Unique by chance across machines, by number within a process.
        let chance = std::hash::BuildHasher::hash_one(
            &std::collections::hash_map::RandomState::new(),
            std::process::id(),
        );
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PINS}/{generation:05}-{chance:016x}{number:x}");
        objects.put(&name, Vec::new()).await?;
        Ok(Self {
            objects: objects.clone(),
            name,
            set: std::sync::Mutex::new(Instant::now()),
        })
    }

    async fn renew(&self, objects: &Objects) -> Result<(), DatasetError> {
        if self.age() > RENEW {
            objects.put(&self.name, Vec::new()).await?;
            *self.set.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        Ok(())
    }

    fn age(&self) -> Duration {
        let set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        set.elapsed()
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // As well as it goes: one that stays holds for a day.
        if let Some(file) = self.objects.local_file(&self.name) {
            let _ = std::fs::remove_file(file);
        } else if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (objects, name) = (self.objects.clone(), self.name.clone());
            runtime.spawn(async move { objects.delete(&name).await });
        }
    }
}
