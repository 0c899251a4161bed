//! Where objects can be.

use std::{fmt, path::PathBuf};

use secrecy::SecretString;

/// A place for objects.
#[derive(Clone, Debug)]
pub enum Place {
    /// On this machine.
    Directory(PathBuf),
    /// In a bucket of S3 or of a server that speaks like it.
    S3(S3),
}

/// A bucket and the way to it.
#[derive(Clone, Debug)]
pub struct S3 {
    /// The bucket; it must exist.
    pub bucket: String,
    /// Before every name, without slashes at its ends.
    pub prefix: String,
    /// The server, if it is not Amazon's.
    pub endpoint: Option<String>,
    /// The region; most other servers take any.
    pub region: String,
    /// The access key and its secret. Without them the machine's own role is asked for.
    pub keys: Option<(String, SecretString)>,
    /// The token of a session, for keys that have one.
    pub session: Option<SecretString>,
}

/// Why an address is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlace {
    /// Not a directory, and not `s3://…`.
    #[error("an address of objects begins with `s3://`, or is an absolute path")]
    Scheme,
    /// `s3://` without a name behind it, or with one that no bucket has.
    #[error("the bucket's name must have 3 to 63 lower-case letters, digits, dots and hyphens")]
    Bucket,
    /// A secret would stand in the configuration, in listings and in errors.
    #[error("an address must hold no keys; they come from the environment or from files")]
    Secret,
}

impl Place {
    /// Reads `s3://BUCKET/PREFIX`, or an absolute path, also as `file:///path`.
    pub fn parse(address: &str) -> Result<Self, BadPlace> {
        if let Some(rest) = address.strip_prefix("s3://") {
            return S3::parse(rest).map(Self::S3);
        }
        let path = address.strip_prefix("file://").unwrap_or(address);
        if !path.starts_with('/') {
            return Err(BadPlace::Scheme);
        }
        Ok(Self::Directory(PathBuf::from(path)))
    }
}

impl S3 {
    fn parse(rest: &str) -> Result<Self, BadPlace> {
        if rest.contains(['@', '?', '#']) {
            return Err(BadPlace::Secret);
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
        if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(plain) {
            return Err(BadPlace::Bucket);
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
            endpoint: None,
            region: "us-east-1".to_owned(),
            keys: None,
            session: None,
        })
    }

    /// Whether the server is asked without TLS.
    pub(super) fn is_plain(&self) -> bool {
        let endpoint = self.endpoint.as_deref();
        endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "{}", path.display()),
            Self::S3(S3 { bucket, prefix, .. }) if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::S3(S3 { bucket, prefix, .. }) => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown) in [
            ("/var/lib/objects", "/var/lib/objects"),
            ("file:///var/lib/objects", "/var/lib/objects"),
            ("s3://abc", "s3://abc"),
            ("s3://abc/prod/v1/", "s3://abc/prod/v1"),
        ] {
            assert_eq!(Place::parse(text).unwrap().to_string(), shown);
        }
        for (text, why) in [
            ("objects", BadPlace::Scheme),
            ("gs://abc", BadPlace::Scheme),
            ("s3://", BadPlace::Bucket),
            ("s3://Ab/c", BadPlace::Bucket),
            ("s3://key:secret@abc", BadPlace::Secret),
        ] {
            assert_eq!(Place::parse(text).unwrap_err(), why, "{text}");
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let mut s3 = S3::parse("abc").unwrap();
        s3.keys = Some(("id".to_owned(), SecretString::from("hush")));
        s3.session = Some(SecretString::from("hush"));
        assert!(!format!("{s3:?}").contains("hush"));
    }
}
