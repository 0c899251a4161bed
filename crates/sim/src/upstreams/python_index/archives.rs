//! Distributions, really built: the same name gives the same bytes.

use std::{fmt::Write as _, io::Write as _};

use flate2::{Compression, GzBuilder, write::DeflateEncoder};
use rawzip::{CompressionMethod, ZipArchiveWriter, path::EntryPath};

use crate::dice::{Dice, fingerprint};

/// What there is in a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The project as its metadata spell it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// As they stand in the metadata.
    pub requires: Vec<String>,
    /// Which Python it wants.
    pub requires_python: Option<String>,
    /// The package that it brings.
    pub package: String,
    /// Modules in it, beside the package itself.
    pub modules: Vec<String>,
    /// So many bytes of something that does not compress come along.
    pub padding: usize,
}

impl Contents {
    /// As chance has it, the same for equal names.
    pub(super) fn generated(name: &str, version: &str) -> Self {
        let mut dice = Dice(fingerprint(format!("{name} {version}").as_bytes()));
        let words = ["attrs", "six", "idna", "click", "rich", "tomli", "numpy"];
        let requires = (0..dice.below(4)).map(|_| {
            let word = dice.pick(&words);
            match dice.below(4) {
                0 => word.to_owned(),
                1 => format!("{word} >=1.{}", dice.below(9)),
                2 => format!("{word}<3,>=1; python_version < '3.9'"),
                _ => format!("{word}[extra]; extra == 'more'"),
            }
        });
        let requires: Vec<String> = requires.collect();
        let modules = (0..=dice.below(3)).map(|at| format!("part{at}"));
        let modules = modules.collect();
        let padding = match dice.below(12) {
            0 => 40_000,
            _ => 0,
        };
        Self {
            package: name.to_lowercase().replace(['-', '.'], "_"),
            name: name.to_owned(),
            version: version.to_owned(),
            requires,
            requires_python: (dice.below(3) > 0).then(|| ">=3.8".to_owned()),
            modules,
            padding,
        }
    }

    /// The metadata, as a file of their own has them too.
    pub fn metadata(&self) -> String {
        let mut text = format!(
            "Metadata-Version: 2.1\nName: {}\nVersion: {}\n",
            self.name, self.version
        );
        if let Some(python) = &self.requires_python {
            let _ = writeln!(text, "Requires-Python: {python}");
        }
        if self.requires.iter().any(|one| one.contains("extra ==")) {
            text.push_str("Provides-Extra: more\n");
        }
        for requirement in &self.requires {
            let _ = writeln!(text, "Requires-Dist: {requirement}");
        }
        text.push_str("\nWords about it.\n");
        text
    }

    /// All that can be imported, sorted.
    pub fn importable(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .modules
            .iter()
            .map(|module| format!("{}.{module}", self.package))
            .chain([self.package.clone()])
            .collect();
        names.sort();
        names
    }

    /// `.whl`.
    pub fn wheel(&self) -> Vec<u8> {
        let name = self.name.replace(['-', '.'], "_");
        let info = format!("{name}-{}.dist-info", self.version);
        let mut members = self.sources("");
        members.push((format!("{info}/METADATA"), self.metadata().into_bytes()));
        members.push((
            format!("{info}/WHEEL"),
            b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\n".to_vec(),
        ));
        let top = format!("{}\n", self.package).into_bytes();
        members.push((format!("{info}/top_level.txt"), top));
        let mut record = String::new();
        for (name, _) in &members {
            let _ = writeln!(record, "{name},,");
        }
        members.push((format!("{info}/RECORD"), record.into_bytes()));
        zip(&members)
    }

    /// `.egg`.
    pub fn egg(&self) -> Vec<u8> {
        let mut members = self.sources("");
        let info = |name: &str| format!("EGG-INFO/{name}");
        let plain = self.without_requirements().metadata();
        members.push((info("PKG-INFO"), plain.into_bytes()));
        members.push((info("requires.txt"), self.requires_txt().into_bytes()));
        let top = format!("{}\n", self.package).into_bytes();
        members.push((info("top_level.txt"), top));
        zip(&members)
    }

    /// `.tar.gz`.
    pub fn sdist(&self) -> Vec<u8> {
        let root = format!("{}-{}/", self.name, self.version);
        let mut members = self.sources(&root);
        members.push((format!("{root}PKG-INFO"), self.metadata().into_bytes()));
        members.push((
            format!("{root}setup.py"),
            b"from setuptools import setup\nsetup()\n".to_vec(),
        ));
        tar_gz(&members)
    }

    fn sources(&self, root: &str) -> Vec<(String, Vec<u8>)> {
        let package = &self.package;
        let mut members = vec![(format!("{root}{package}/__init__.py"), b"\n".to_vec())];
        for module in &self.modules {
            let source = format!("NAME = {module:?}\n").into_bytes();
            members.push((format!("{root}{package}/{module}.py"), source));
        }
        if self.padding > 0 {
            let noise = noise(&format!("{package}{}", self.version), self.padding);
            members.push((format!("{root}{package}/data.bin"), noise));
        }
        members
    }

    fn without_requirements(&self) -> Self {
        Self {
            requires: Vec::new(),
            ..self.clone()
        }
    }

    /// Requirements as eggs have them: markers stand in sections.
    fn requires_txt(&self) -> String {
        let plain = self.requires.iter().filter(|one| !one.contains(';'));
        let mut text = String::new();
        for one in plain {
            text.push_str(one);
            text.push('\n');
        }
        text
    }
}

/// A zip with these members.
pub fn zip(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for (name, content) in members {
        let path = EntryPath::verbatim(name.as_bytes().to_vec());
        let file = archive
            .new_file(path)
            .compression_method(CompressionMethod::DEFLATE);
        // Writing to memory does not fail.
        let Ok((mut entry, config)) = file.start() else {
            continue;
        };
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
        let _ = writer.write_all(content);
        let written = writer.finish().ok().and_then(|(encoder, descriptor)| {
            encoder.finish().ok()?;
            Some(descriptor)
        });
        if let Some(descriptor) = written {
            let _ = entry.finish(descriptor);
        }
    }
    let _ = archive.finish();
    bytes
}

/// A compressed tar with these members, with no time in it.
pub fn tar_gz(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let _ = archive.append_data(&mut header, name, content.as_slice());
    }
    let plain = archive.into_inner().unwrap_or_default();
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::fast());
    let _ = encoder.write_all(&plain);
    encoder.finish().unwrap_or_default()
}

fn noise(seed: &str, length: usize) -> Vec<u8> {
    let mut dice = Dice(fingerprint(seed.as_bytes()));
    (0..length.div_ceil(8))
        .flat_map(|_| dice.next().to_le_bytes())
        .take(length)
        .collect()
}
