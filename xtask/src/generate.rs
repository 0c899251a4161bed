//! Generated files: written by the product itself, committed, and checked to be current.

use std::fs;

use anyhow::{Context as _, bail};

use crate::{postgres, steps};

/// One file and the `gleaner` command whose standard output it holds.
struct Generated {
    destination: &'static str,
    command: &'static [&'static str],
    /// Whether it asks a PostgreSQL; a private one is then lent to it.
    postgres: bool,
}

/// To add a generated file, add a line.
const GENERATED: &[Generated] = &[
    Generated {
        destination: "gleaner.example.toml",
        command: &["config", "example"],
        postgres: false,
    },
    Generated {
        destination: "schema/sqlite.sql",
        command: &["--database", "sqlite::memory:", "db", "schema"],
        postgres: false,
    },
    Generated {
        destination: "schema/postgres.sql",
        command: &["db", "schema"],
        postgres: true,
    },
];

pub(crate) fn write_all() -> anyhow::Result<()> {
    for file in GENERATED {
        let path = steps::root().join(file.destination);
        let text = file.text()?;
        if fs::read_to_string(&path).ok().as_ref() == Some(&text) {
            continue;
        }
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).context(file.destination)?;
        }
        fs::write(path, text).context(file.destination)?;
        eprintln!("wrote {}", file.destination);
    }
    Ok(())
}

pub(crate) fn check_all() -> anyhow::Result<()> {
    let mut stale = Vec::new();
    for file in GENERATED {
        let committed = fs::read_to_string(steps::root().join(file.destination));
        let text = file.text()?;
        if let Some(hint) = difference(&committed.unwrap_or_default(), &text) {
            stale.push(format!("{}: {hint}", file.destination));
        }
    }
    if !stale.is_empty() {
        let stale = stale.join("\n  ");
        bail!("stale, run `cargo xtask generate` and commit:\n  {stale}");
    }
    eprintln!("{} generated files are up to date", GENERATED.len());
    Ok(())
}

impl Generated {
    /// What the file should hold. The binary is that of the tests, so that it is built once.
    fn text(&self) -> anyhow::Result<String> {
        let run = ["run", "--quiet", "--profile", "ci", "--package", "gleaner"];
        let mut command = steps::cargo(&run);
        command.arg("--").args(self.command);
        if self.postgres {
            let cluster = postgres::start()?;
            return steps::stdout(command.args(["--database", cluster.url()]));
        }
        steps::stdout(&mut command)
    }
}

/// The first line that differs, if any.
fn difference(committed: &str, generated: &str) -> Option<String> {
    if committed == generated {
        return None;
    }
    let same = committed.lines().zip(generated.lines());
    let line = same.take_while(|(old, new)| old == new).count();
    let shown = |text: &str| match text.lines().nth(line) {
        Some(line) => format!("`{line}`"),
        None => "the end of the file".to_owned(),
    };
    let (old, new) = (shown(committed), shown(generated));
    Some(format!("line {}: {old} should be {new}", line + 1))
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn the_first_stale_line_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let hint = difference("a\nb\n", "a\nc\n");
        assert_eq!(hint.as_deref(), Some("line 2: `b` should be `c`"));
        let hint = difference("", "a\n");
        assert_eq!(
            hint.as_deref(),
            Some("line 1: the end of the file should be `a`")
        );
    }
}
