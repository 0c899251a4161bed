//! A distribution at an address, of which no more is fetched than is needed.

use collect::{
    answer::Answer,
    http::UpstreamSettings,
    pypi::{RemoteFile, RemoteRead, read_remote},
};
use percent_encoding::percent_decode_str;
use scan::python::{Limits, ReadError};
use url::Url;

use super::{DistributionRow, refused, row};
use crate::{
    commands::own_store::OwnStore,
    config,
    error::{Failure, Result, codes},
    outside,
    session::Session,
};

/// Whether this is meant as an address.
pub(super) fn is_address(file: &str) -> bool {
    file.starts_with("https://") || file.starts_with("http://")
}

pub(super) async fn read(session: &Session, address: &str) -> Result<DistributionRow> {
    let place = Place::of(address)?;
    let store = OwnStore::of_command(session).await?;
    let mut about = outside::about(session.settings()?, &config::environment())?;
    about
        .upstreams
        .entry(place.upstream.clone())
        .or_insert_with(|| UpstreamSettings {
            // Whoever names an address wants it asked, wherever it lies.
            allow_private: true,
            ..UpstreamSettings::at(&place.base)
        });
    let client = outside::client(&store.engine, &about)?;
    let file = RemoteFile {
        upstream: &place.upstream,
        path: &place.path,
        filename: &place.filename,
        project: None,
    };
    let read = read_remote(&client.for_person(), file, &Limits::default()).await;
    store.engine.db().close().await;
    match read {
        Answer::Found(read) => place.judged(read),
        Answer::Absent => {
            let message = format!("there is nothing at `{}`", place.shown);
            Err(Failure::new(&codes::NOT_FOUND, message))
        }
        Answer::Unknown(why) => {
            let message = format!("`{}` could not be read: {why}", place.shown);
            Err(Failure::new(&codes::UPSTREAM, message))
        }
    }
}

/// Where a file lies, and what is said of it there.
struct Place {
    /// Without a query and a fragment, which may hold secrets.
    shown: String,
    upstream: String,
    base: String,
    path: String,
    filename: String,
    sha256: Option<String>,
}

impl Place {
    fn of(address: &str) -> Result<Self> {
        let refuse = |why: &str| {
            Failure::new(&codes::FILE, format!("that address cannot be asked: {why}"))
                .hint("an address looks like https://host/path/name-1.0-py3-none-any.whl")
        };
        let url = Url::parse(address).map_err(|error| refuse(&error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("it has a password in it").hint(
                "name the server under `[upstream]`, with the password's file as `token_files`",
            ));
        }
        let Some(host) = url.host_str() else {
            return Err(refuse("it has no host"));
        };
        let upstream = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let last = url.path().rsplit('/').next().unwrap_or_default();
        let filename = percent_decode_str(last).decode_utf8_lossy().into_owned();
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let sha256 = url.fragment().and_then(|text| {
            let mut pairs = text.split('&');
            pairs.find_map(|pair| pair.strip_prefix("sha256="))
        });
        Ok(Self {
            shown: format!("{}://{upstream}{}", url.scheme(), url.path()),
            base: format!("{}://{upstream}", url.scheme()),
            path,
            filename,
            sha256: sha256.map(str::to_ascii_lowercase),
            upstream,
        })
    }

    fn judged(self, read: RemoteRead) -> Result<DistributionRow> {
        let sha256 = read.sha256.map(facts::hex::lower);
        if let (Some(told), Some(found)) = (&self.sha256, &sha256)
            && told != found
        {
            let message = format!("`{}` is not the file that its address means", self.shown);
            return Err(Failure::new(&codes::DAMAGED, message)
                .hint(format!("its SHA-256 is {found}, the address says {told}")));
        }
        match read.distribution {
            Ok(distribution) => {
                let mut row = row(self.filename, &distribution, sha256, read.size);
                row.bytes_read = read.bytes_fetched;
                Ok(row)
            }
            Err(refusal) => Err(refused(&self.shown, &ReadError::Refused(refusal))),
        }
    }
}
