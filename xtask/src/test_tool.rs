//! Programs that tests need, each in a directory of ours in the user's cache: made once, and taken as
//! it is from then on.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::steps;

/// How tests hear of a tool.
pub(crate) struct Tool {
    /// The variable that says where it is.
    pub there: &'static str,
    /// The variable that says why there is none.
    pub missing: &'static str,
    /// What is lost without it, for people.
    pub loss: &'static str,
    /// Finds it, or makes it.
    pub find: fn() -> anyhow::Result<PathBuf>,
}

impl Tool {
    /// What tests are told: where it is, or why there is none. Nothing, if somebody has told
    /// already.
    pub(crate) fn for_tests(&self) -> Option<(&'static str, String)> {
        if std::env::var_os(self.there).is_some() {
            return None;
        }
        match (self.find)() {
            Ok(place) => Some((self.there, place.display().to_string())),
            Err(error) => {
                let why = format!("{error:#}");
                eprintln!("warning: {}: {why}", self.loss);
                Some((self.missing, why))
            }
        }
    }
}

/// Packages of Python's registry in a directory of their own.
pub(crate) struct PythonPackages<'a> {
    pub packages: &'a [&'a str],
    /// Without what they require.
    pub alone: bool,
    /// Whether what is there can be used.
    pub works: fn(&Path) -> bool,
}

impl PythonPackages<'_> {
    /// Makes sure that they are there.
    pub(crate) fn at(&self, place: &Path) -> anyhow::Result<()> {
        if !(self.works)(place) {
            self.install(place)?;
        }
        if !(self.works)(place) {
            bail!("what is in {} does not run", place.display());
        }
        Ok(())
    }

    /// Beside its place and then at it, so that what is there is whole.
    fn install(&self, place: &Path) -> anyhow::Result<()> {
        let mut pythons = ["python3", "python"].into_iter();
        let Some(python) =
            pythons.find(|python| steps::is_there(python, &["-m", "pip", "--version"]))
        else {
            bail!("there is no Python with pip\n  hint: install your system's python3-pip package");
        };
        let first = self.packages.first().copied().unwrap_or_default();
        eprintln!("installing {first}, which tests need");
        let beside = place.with_extension(std::process::id().to_string());
        let status = Command::new(python)
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--no-compile"])
            .args(["--only-binary", ":all:"])
            .args(self.alone.then_some("--no-deps"))
            .args(["--retries", "1", "--timeout", "20", "--target"])
            .arg(&beside)
            .args(self.packages)
            // Its directory is our own; nobody's system is touched.
            .env("PIP_ROOT_USER_ACTION", "ignore")
            // Never among the results on standard output.
            .stdout(std::io::stderr())
            .status();
        let installed = match status {
            Ok(status) if status.success() => self.put(&beside, place),
            Ok(status) => Err(anyhow::anyhow!(
                "pip could not install {first} ({status}): the package registry may be out of reach"
            )),
            Err(error) => Err(error).context("could not start pip"),
        };
        let _ = std::fs::remove_dir_all(&beside);
        installed
    }

    fn put(&self, beside: &Path, place: &Path) -> anyhow::Result<()> {
        let _ = std::fs::remove_dir_all(place);
        match std::fs::rename(beside, place) {
            // Somebody else was faster.
            Err(_) if (self.works)(place) => Ok(()),
            moved => moved.with_context(|| format!("could not write {}", place.display())),
        }
    }
}

/// Our directory in the user's cache, as the platforms have it.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let Some(cache) = set("XDG_CACHE_HOME").map(PathBuf::from).or_else(home) else {
        bail!("neither XDG_CACHE_HOME nor HOME is set");
    };
    let ours = cache.join("gleaner-tests");
    std::fs::create_dir_all(&ours).with_context(|| format!("could not make {}", ours.display()))?;
    Ok(ours)
}
