//! Core metadata: METADATA of wheels, PKG-INFO of eggs and source distributions.
//!
//! The files are written like the head of a mail, and everybody reads them with
//! a mail parser. The same liberties are taken here: any line end, folded lines,
//! headers in any case, and an end at the first line that is no header. All
//! versions of the format (1.0 to 2.5) are one list of fields, so a field is
//! read whatever version the file claims.

/// The fields a package index works with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreMetadata {
    pub metadata_version: Option<String>,
    pub name: Option<String>,
    pub version: Option<String>,
    pub summary: Option<String>,
    pub requires_python: Option<String>,
    /// As the strings stand in the file.
    pub requires_dist: Vec<String>,
    /// The field of metadata 1.1: modules, not projects.
    pub requires: Vec<String>,
    pub extras: Vec<String>,
    /// Fields that building may still change.
    pub dynamic: Vec<String>,
    pub import_names: Vec<ImportName>,
    pub license: Option<String>,
    pub license_expression: Option<String>,
    pub classifiers: Vec<String>,
    pub home_page: Option<String>,
    /// Label and address.
    pub project_urls: Vec<(String, String)>,
    pub keywords: Option<String>,
}

/// A name the project says it can be imported by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportName {
    pub name: String,
    /// Not meant for others.
    pub private: bool,
    /// Shared with other projects.
    pub namespace: bool,
}

impl CoreMetadata {
    /// Reads any bytes; what cannot be understood is simply not there.
    pub fn parse(bytes: &[u8]) -> CoreMetadata {
        // Databases hold no NUL.
        let text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
        let mut metadata = CoreMetadata::default();
        for (field, value) in Headers::new(text.trim_start_matches('\u{feff}')) {
            metadata.take(&field.to_ascii_lowercase(), value);
        }
        metadata
    }

    /// Whether a wheel built from this source would have the same value. Older
    /// metadata made no such promise.
    pub fn is_settled(&self, field: &str) -> bool {
        let numbers: Vec<u32> = self
            .metadata_version
            .as_deref()
            .unwrap_or("1.0")
            .split('.')
            .filter_map(|number| number.parse().ok())
            .collect();
        numbers.as_slice() >= [2, 2].as_slice()
            && !self
                .dynamic
                .iter()
                .any(|name| name.eq_ignore_ascii_case(field))
    }

    fn take(&mut self, field: &str, value: String) {
        let first = |slot: &mut Option<String>, value: String| {
            if slot.is_none() && !value.is_empty() && value != "UNKNOWN" {
                *slot = Some(value);
            }
        };
        match field {
            "metadata-version" => first(&mut self.metadata_version, value),
            "name" => first(&mut self.name, value),
            "version" => first(&mut self.version, value),
            "summary" => first(&mut self.summary, value),
            "requires-python" => first(&mut self.requires_python, value),
            "requires-dist" => self.requires_dist.push(value),
            "requires" => self.requires.push(value),
            "provides-extra" => self.extras.push(value),
            "dynamic" => self.dynamic.push(value),
            "import-name" => self.import_names.extend(import_name(&value, false)),
            "import-namespace" => self.import_names.extend(import_name(&value, true)),
            "license" => first(&mut self.license, value),
            "license-expression" => first(&mut self.license_expression, value),
            "classifier" => self.classifiers.push(value),
            "home-page" => first(&mut self.home_page, value),
            "keywords" => first(&mut self.keywords, value),
            "project-url" => {
                if let Some((label, url)) = value.split_once(',') {
                    self.project_urls
                        .push((label.trim().to_owned(), url.trim().to_owned()));
                }
            }
            _ => {}
        }
    }
}

/// `name` or `name ; private`; an empty field says that there is none.
fn import_name(value: &str, namespace: bool) -> Option<ImportName> {
    let (name, note) = value.split_once(';').unwrap_or((value, ""));
    let name = name.trim();
    let private = note.trim() == "private";
    (!name.is_empty()).then(|| ImportName {
        name: name.to_owned(),
        private,
        namespace,
    })
}

/// The headers of a mail, unfolded.
struct Headers<'a> {
    rest: &'a str,
}

impl<'a> Headers<'a> {
    fn new(text: &'a str) -> Self {
        Headers { rest: text }
    }

    fn peek_line(&self) -> Option<(&'a str, &'a str)> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.find(['\r', '\n']).unwrap_or(self.rest.len());
        let (line, tail) = self.rest.split_at(end);
        let tail = tail
            .strip_prefix("\r\n")
            .or_else(|| tail.strip_prefix(['\r', '\n']))
            .unwrap_or(tail);
        Some((line, tail))
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a str, String);

    fn next(&mut self) -> Option<Self::Item> {
        let (line, tail) = self.peek_line()?;
        self.rest = tail;
        let (field, value) = line.split_once(':')?;
        if field.is_empty() || !field.bytes().all(|b| b.is_ascii_graphic()) {
            return None;
        }
        let mut value = value.trim().to_owned();
        while let Some((line, tail)) = self.peek_line() {
            if !line.starts_with([' ', '\t']) {
                break;
            }
            self.rest = tail;
            value.push('\n');
            value.push_str(line.trim());
        }
        Some((field, value.trim().replace('\n', " ")))
    }
}
