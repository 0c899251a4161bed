//! Wiring: where dumps and datasets are, with the keys to it.

use collect::pypi::Desk;
use secrecy::SecretString;
use store::{
    datasets::DatasetError,
    dumps::DumpError,
    objects::{Objects, ObjectsError, Place},
};

use crate::{
    config::Settings,
    error::{Failure, Result, codes},
    outside::secret,
    session::Session,
};

/// Where dumps and datasets are made.
pub(crate) fn desk(settings: &Settings) -> Result<Desk> {
    Ok(Desk {
        place: place(settings)?,
        ..Desk::below(&settings.home)
    })
}

/// Opens the objects that the configuration names.
pub(crate) fn open(session: &Session) -> Result<Objects> {
    let settings = session.settings()?;
    desk(settings)?.open().map_err(|error| failed(error.into()))
}

fn place(settings: &Settings) -> Result<Place> {
    let set = &settings.objects;
    let Some(url) = &set.url else {
        return Ok(Place::Directory(settings.home.join("objects")));
    };
    let mut place = Place::parse(url).map_err(|error| {
        let message = "`url` under `[objects]` is no place for objects";
        Failure::new(&codes::CONFIG_VALUE, message)
            .caused_by(&error)
            .hint("it looks like s3://bucket/prefix or /var/lib/gleaner/objects")
    })?;
    let Place::S3(s3) = &mut place else {
        return Ok(place);
    };
    s3.endpoint.clone_from(&set.endpoint);
    if let Some(region) = &set.region {
        s3.region.clone_from(region);
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let from = |file: Option<&std::path::PathBuf>, name: &str| match file {
        Some(file) => secret(file, "[objects]").map(Some),
        None => Ok(variable(name)),
    };
    let key = from(set.access_key_file.as_ref(), "AWS_ACCESS_KEY_ID")?;
    let hidden = from(set.secret_key_file.as_ref(), "AWS_SECRET_ACCESS_KEY")?;
    s3.keys = match (key, hidden) {
        (Some(key), Some(hidden)) => Some((key, SecretString::from(hidden))),
        (None, None) => None,
        _ => {
            let message = "of the two keys to the object store only one is there";
            return Err(Failure::new(&codes::CONFIG_VALUE, message).hint(
                "name both under `[objects]`, or set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ));
        }
    };
    s3.session = variable("AWS_SESSION_TOKEN").map(SecretString::from);
    Ok(place)
}

/// What a person is told when dumps and datasets fail.
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(crate) fn failed(error: DatasetError) -> Failure {
    match &error {
        DatasetError::Dump(DumpError::NoFullDump) => {
            Failure::new(&codes::NOT_FOUND, "there is no full dump yet")
                .hint("`gleaner pypi dump --full` makes one")
        }
        DatasetError::Dump(DumpError::Database(_)) | DatasetError::Busy => {
            Failure::new(&codes::DB_UNREACHABLE, "the dump could not be made").caused_by(&error)
        }
        DatasetError::Objects(ObjectsError::Store { .. })
        | DatasetError::Dump(DumpError::Objects(ObjectsError::Store { .. })) => {
            Failure::new(&codes::UPSTREAM, "the object store does not answer as it should")
                .caused_by(&error)
                .hint("its place and keys are set under `[objects]`")
        }
        DatasetError::Local(_)
        | DatasetError::Objects(_)
        | DatasetError::Dump(DumpError::Local(_) | DumpError::Objects(_)) => {
            Failure::new(&codes::NOT_WRITABLE, "dumps and datasets cannot be read or written")
                .caused_by(&error)
        }
        DatasetError::Query(_) => Failure::new(&codes::NAME, error.to_string()),
        _ => Failure::new(&codes::DAMAGED, "a dump or a dataset is damaged")
            .caused_by(&error)
            .hint("`gleaner pypi dataset verify` tells which; `gleaner pypi dump --full` and `gleaner pypi dataset build --anew` make new ones"),
    }
}
