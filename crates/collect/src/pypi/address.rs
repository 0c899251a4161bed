//! Where an index is, and where its files are.

use url::Url;

use crate::http::segment;

/// The upstream that the index itself is.
pub const UPSTREAM: &str = "pypi";

/// Where an index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexAddress {
    /// The root of the Simple API, with a slash at the end.
    simple: Url,
    upstream: String,
}

/// Why an address is none of an index.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AddressFault {
    /// It cannot be read.
    #[error("it is no address: {0}")]
    Url(String),
    /// It is neither http nor https.
    #[error("it is neither http nor https")]
    Scheme,
    /// It has a password in it, which belongs elsewhere.
    #[error("it has a password in it")]
    Password,
}

impl IndexAddress {
    /// Reads the address of the root, such as `https://index.example/simple/`.
    pub fn parse(text: &str) -> Result<Self, AddressFault> {
        let mut url =
            Url::parse(text.trim()).map_err(|error| AddressFault::Url(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(AddressFault::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressFault::Password);
        }
        url.set_query(None);
        url.set_fragment(None);
        let path = format!("{}/", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Ok(Self {
            simple: url,
            upstream: UPSTREAM.to_owned(),
        })
    }

    /// Asked under the name of its host: for an index that nobody has configured.
    pub fn by_host(mut self) -> Self {
        self.upstream = host(&self.simple).unwrap_or_default();
        self
    }

    /// The upstream that it is.
    pub fn upstream(&self) -> &str {
        &self.upstream
    }

    /// The whole address of the root.
    pub fn as_str(&self) -> &str {
        self.simple.as_str()
    }

    /// Scheme, host and port: where the paths of its upstream begin.
    pub fn origin(&self) -> String {
        self.simple.origin().ascii_serialization()
    }

    /// The path of the list of all projects.
    pub fn root(&self) -> String {
        self.simple.path().to_owned()
    }

    /// The path of a project's page.
    pub fn page(&self, project: &str) -> String {
        format!("{}{}/", self.simple.path(), segment(project))
    }

    /// Where the changelog would be, for an index that has one.
    pub fn changelog(&self) -> Option<String> {
        let path = self.simple.path().trim_end_matches('/');
        Some(format!("{}/pypi", path.strip_suffix("/simple")?))
    }

    /// The whole address of a file that a project's page names, relative or not.
    pub fn file(&self, project: &str, url: &str) -> Option<String> {
        let page = self.simple.join(&format!("{}/", segment(project))).ok()?;
        let mut file = page.join(url).ok()?;
        file.set_fragment(None);
        let fits = matches!(file.scheme(), "http" | "https")
            && file.username().is_empty()
            && file.password().is_none();
        fits.then(|| file.to_string())
    }

    /// Whom to ask for a file, and by which path.
    pub fn place(&self, file: &str) -> Option<(String, String)> {
        let url = Url::parse(file).ok()?;
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        if url.origin() == self.simple.origin() {
            return Some((self.upstream.clone(), path));
        }
        Some((host(&url)?, path))
    }
}

fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_from_pages() {
        let index = IndexAddress::parse("https://index.example/root/simple").unwrap();
        assert_eq!(index.page("a-b"), "/root/simple/a-b/");
        assert_eq!(index.changelog().as_deref(), Some("/root/pypi"));
        let file = index
            .file("a-b", "../../packages/x/a.whl#sha256=00")
            .unwrap();
        assert_eq!(file, "https://index.example/root/packages/x/a.whl");
        let place = index.place(&file).unwrap();
        assert_eq!(place, ("pypi".into(), "/root/packages/x/a.whl".into()));
        let elsewhere = index
            .file("a-b", "https://files.example:8080/a.whl")
            .unwrap();
        let place = index.place(&elsewhere).unwrap();
        assert_eq!(place, ("files.example:8080".into(), "/a.whl".into()));
        assert_eq!(index.file("a", "ftp://x/y"), None);
        assert_eq!(index.file("a", "https://u:p@x/y"), None);
    }

    #[test]
    fn addresses_with_passwords_are_refused() {
        let fault = IndexAddress::parse("https://user:secret@index.example/simple").unwrap_err();
        assert!(!fault.to_string().contains("secret"));
        assert_eq!(fault, AddressFault::Password);
    }
}
