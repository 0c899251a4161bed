//! Objects: dumps, datasets and what else is too large or too public for the database.
//!
//! A name like `data_dumps/x/0001.json.gz` means the same in a local directory (the default) and in
//! a bucket of S3 or of a server that speaks like it. Three promises hold in both, and nothing here
//! needs more than them:
//!
//! - an object appears whole or not at all;
//! - [`Objects::create`] makes an object that is not there and changes none that is: of many who
//!   try at once, one makes it. There is no compare-and-swap, since a directory has none;
//! - what was read of an object is what was written.
//!
//! The local directory is made for its owner alone. Keys of S3 are kept as secrets, and no error
//! shows them.

mod place;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use db::Timestamp;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::{
    ClientOptions, Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
    RetryConfig, WriteMultipart, aws::AmazonS3Builder, local::LocalFileSystem, path::Path,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub use place::{BadPlace, Place, S3};
use secrecy::ExposeSecret as _;

/// The largest object that is held in memory on its way.
pub const MOST_AT_ONCE: u64 = 256 << 20;
/// More objects than this are not listed at once.
pub const MOST_LISTED: usize = 1_000_000;
/// Pieces in which large files go over the wire.
const PIECE: usize = 8 << 20;

/// Why objects could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectsError {
    /// The directory or the server failed, or refused.
    #[error("the object store failed at `{name}`")]
    Store {
        /// Which object, or which place.
        name: String,
        /// What it said.
        #[source]
        source: Error,
    },
    /// A file on this machine failed.
    #[error("a local file failed")]
    Local(#[from] std::io::Error),
    /// It is larger than its kind may be.
    #[error("`{name}` is larger than {most} bytes")]
    TooLarge {
        /// Which object.
        name: String,
        /// The limit.
        most: u64,
    },
    /// There are more than anybody should list.
    #[error("there are more than {MOST_LISTED} objects below `{0}`")]
    TooMany(String),
}

/// What [`Objects::create`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It was not there, and is now.
    New,
    /// It was there, and is as it was.
    Existed,
}

/// One object, as a listing has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its whole name.
    pub name: String,
    /// In bytes.
    pub size: u64,
    /// When it was written, by the clock of whoever keeps it.
    pub written_at: Timestamp,
}

/// Where objects are.
#[derive(Clone, Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    /// Before every name, in a bucket.
    prefix: String,
    /// The directory, if it is one.
    root: Option<PathBuf>,
    shown: String,
    /// Drills only: how many more changes are made before all of them fail.
    lives: Option<Arc<AtomicI64>>,
}

impl Objects {
    /// Opens a place. A directory is made if need be; a bucket must be there, and is not asked yet.
    pub fn open(place: &Place) -> Result<Self, ObjectsError> {
        let shown = place.to_string();
        let failed = |source| ObjectsError::Store {
            name: shown.clone(),
            source,
        };
        match place {
            Place::Directory(root) => {
                private_directory(root)?;
                let store = LocalFileSystem::new_with_prefix(root).map_err(failed)?;
                Ok(Self {
                    store: Arc::new(store.with_fsync(true)),
                    prefix: String::new(),
                    root: Some(root.clone()),
                    shown,
                    lives: None,
                })
            }
            Place::S3(s3) => Ok(Self {
                store: Arc::new(bucket(s3).map_err(failed)?),
                prefix: s3.prefix.clone(),
                root: None,
                shown,
                lives: None,
            }),
        }
    }

    /// A directory on this machine.
    pub fn directory(root: impl Into<PathBuf>) -> Result<Self, ObjectsError> {
        Self::open(&Place::Directory(root.into()))
    }

    /// The same objects for a process that is killed after so many changes to them, for drills.
    #[doc(hidden)]
    pub fn dying_after(&self, changes: i64) -> Self {
        Self {
            lives: Some(Arc::new(AtomicI64::new(changes))),
            ..self.clone()
        }
    }

    /// The place, without secrets.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The address of an object, for people.
    pub fn address(&self, name: &str) -> String {
        format!("{}/{name}", self.shown.trim_end_matches('/'))
    }

    /// The file that holds an object, if the place is a directory.
    pub fn local_file(&self, name: &str) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(name))
    }

    /// Makes an object, unless it is there.
    pub async fn create(&self, name: &str, bytes: Vec<u8>) -> Result<Created, ObjectsError> {
        self.fits(name, bytes.len() as u64, MOST_AT_ONCE)?;
        self.live()?;
        let (at, options) = (self.at(name), PutOptions::from(PutMode::Create));
        let put = self.store.put_opts(&at, PutPayload::from(bytes), options);
        match put.await {
            Ok(_) => Ok(Created::New),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Created::Existed),
            Err(source) => Err(self.failed(name, source)),
        }
    }

    /// Makes or replaces an object. Only for those whose name is made of their contents, and for
    /// marks of time: everything else is created once.
    pub async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), ObjectsError> {
        self.fits(name, bytes.len() as u64, MOST_AT_ONCE)?;
        self.live()?;
        let at = self.at(name);
        let put = self.store.put(&at, PutPayload::from(bytes));
        put.await.map_err(|source| self.failed(name, source))?;
        Ok(())
    }

    /// Likewise from a file of any size.
    pub async fn put_file(&self, name: &str, file: &std::path::Path) -> Result<(), ObjectsError> {
        self.live()?;
        let failed = |source| self.failed(name, source);
        let mut file = tokio::fs::File::open(file).await?;
        let upload = self.store.put_multipart(&self.at(name)).await;
        let mut upload = WriteMultipart::new_with_chunk_size(upload.map_err(failed)?, PIECE);
        let mut buffer = vec![0; PIECE];
        loop {
            let read = file.read(&mut buffer).await?;
            if read == 0 {
                break;
            }
            upload.wait_for_capacity(2).await.map_err(failed)?;
            upload.write(&buffer[..read]);
        }
        upload.finish().await.map_err(failed)?;
        Ok(())
    }

    /// The contents of an object of at most `most` bytes; none if it is not there.
    pub async fn get(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, ObjectsError> {
        let found = match self.store.get(&self.at(name)).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(source) => return Err(self.failed(name, source)),
        };
        self.fits(name, found.meta.size, most)?;
        match found.bytes().await {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(source) => Err(self.failed(name, source)),
        }
    }

    /// Copies an object of any size into a file; tells whether it was there.
    pub async fn fetch(&self, name: &str, to: &std::path::Path) -> Result<bool, ObjectsError> {
        let found = match self.store.get(&self.at(name)).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(false),
            Err(source) => return Err(self.failed(name, source)),
        };
        let mut file = tokio::fs::File::create(to).await?;
        let mut pieces = found.into_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|source| self.failed(name, source))?;
            file.write_all(&piece).await?;
        }
        file.flush().await?;
        Ok(true)
    }

    /// Whether an object is there.
    pub async fn is_there(&self, name: &str) -> Result<bool, ObjectsError> {
        match self.store.head(&self.at(name)).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(source) => Err(self.failed(name, source)),
        }
    }

    /// All objects below `prefix`, by name.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Listed>, ObjectsError> {
        let below = self.at(prefix);
        let mut found = self.store.list(Some(&below));
        let mut all = Vec::new();
        while let Some(object) = found
            .try_next()
            .await
            .map_err(|source| self.failed(prefix, source))?
        {
            if all.len() == MOST_LISTED {
                return Err(ObjectsError::TooMany(prefix.to_owned()));
            }
            let name = object.location.as_ref();
            let name = name.strip_prefix(self.prefix.as_str()).unwrap_or(name);
            all.push(Listed {
                name: name.trim_start_matches('/').to_owned(),
                size: object.size,
                written_at: Timestamp::from_micros(object.last_modified.timestamp_micros()),
            });
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Removes an object; one that is not there is removed already.
    pub async fn delete(&self, name: &str) -> Result<(), ObjectsError> {
        self.live()?;
        match self.store.delete(&self.at(name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(source) => Err(self.failed(name, source)),
        }
    }

    fn live(&self) -> Result<(), std::io::Error> {
        match &self.lives {
            Some(lives) if lives.fetch_sub(1, Ordering::Relaxed) <= 0 => {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            _ => Ok(()),
        }
    }

    fn at(&self, name: &str) -> Path {
        match self.prefix.as_str() {
            "" => Path::from(name),
            prefix => Path::from(format!("{prefix}/{name}")),
        }
    }

    fn failed(&self, name: &str, source: Error) -> ObjectsError {
        ObjectsError::Store {
            name: self.address(name),
            source,
        }
    }

    fn fits(&self, name: &str, size: u64, most: u64) -> Result<(), ObjectsError> {
        if size > most {
            let name = self.address(name);
            return Err(ObjectsError::TooLarge { name, most });
        }
        Ok(())
    }
}

/// For its owner alone; permissions of one that is there stay as they are.
fn private_directory(root: &std::path::Path) -> Result<(), std::io::Error> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(root)
}

fn bucket(s3: &S3) -> Result<object_store::aws::AmazonS3, Error> {
    // The client takes the provider of the process; without one it would have none.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&s3.bucket)
        .with_region(&s3.region)
        .with_client_options(
            ClientOptions::new()
                .with_connect_timeout(Duration::from_secs(10))
                // A whole object goes in one request.
                .with_timeout(Duration::from_mins(5))
                .with_allow_http(s3.is_plain()),
        )
        .with_retry(RetryConfig {
            max_retries: 3,
            retry_timeout: Duration::from_mins(1),
            ..RetryConfig::default()
        });
    if let Some(endpoint) = &s3.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some((key, secret)) = &s3.keys {
        builder = builder
            .with_access_key_id(key)
            .with_secret_access_key(secret.expose_secret());
    }
    if let Some(token) = &s3.session {
        builder = builder.with_token(token.expose_secret());
    }
    builder.build()
}
