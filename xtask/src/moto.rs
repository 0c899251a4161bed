//! A server that speaks S3, for the tests of object stores: the Python package `moto` has one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::test_tool::{PythonPackages, Tool, cache};

/// What tests are told of it: the directory of its packages.
pub(crate) const MOTO: Tool = Tool {
    there: "GLEANER_MOTO",
    missing: "GLEANER_NO_MOTO",
    loss: "no server that speaks S3, objects are tested in directories only",
    find,
};

fn find() -> anyhow::Result<PathBuf> {
    let place = cache()?.join("moto");
    let packages = PythonPackages {
        // What it takes to serve S3 and nothing else.
        packages: &["moto>=5.2,<6", "flask", "flask-cors", "pyyaml"],
        alone: false,
        works,
    };
    packages.at(&place)?;
    Ok(place)
}

fn works(place: &Path) -> bool {
    let loads = Command::new("python3")
        .args(["-c", "import moto.server, moto.s3, flask_cors"])
        .env("PYTHONPATH", place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    place.is_dir() && loads.is_ok_and(|status| status.success())
}
