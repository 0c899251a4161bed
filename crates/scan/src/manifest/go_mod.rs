//! `go.mod`: Go modules.

use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "go",
    files: &[Files::Named("go.mod")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let mut manifest = source.named(module_path(&source.text));
    match manifest.name.as_deref() {
        None => manifest.deny("no module path"),
        // A path can be fetched only if its first element is a host.
        Some(path)
            if !path
                .split('/')
                .next()
                .is_some_and(|host| host.contains('.')) =>
        {
            manifest.deny("module path without host");
        }
        Some(_) => manifest.intent = Intent::Yes,
    }
    Ok(manifest)
}

/// `module path` or `module ( path )`, the path bare or quoted.
fn module_path(text: &str) -> Option<String> {
    let mut in_block = false;
    let mut found = None;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let path = if in_block {
            if line == ")" {
                in_block = false;
                continue;
            }
            line
        } else {
            match line.strip_prefix("module") {
                Some(rest) if rest.starts_with([' ', '\t', '(', '"', '`']) => rest.trim(),
                _ => continue,
            }
        };
        if path == "(" {
            in_block = true;
        } else if !path.is_empty() {
            if found.is_some() {
                return None;
            }
            found = Some(unquote(path)?.to_owned());
        }
    }
    found
}

fn unquote(path: &str) -> Option<&str> {
    let inner = ['"', '`']
        .iter()
        .find_map(|quote| path.strip_prefix(*quote)?.strip_suffix(*quote));
    let path = inner.unwrap_or(path);
    (!path.contains([' ', '\t', '"', '`', '(', ')', ','])).then_some(path)
}
