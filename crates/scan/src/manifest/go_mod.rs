//! `go.mod`: Go modules.

use super::{Files, Format, Intent, Manifest, ManifestError, Source};

pub(super) const FORMAT: Format = Format {
    manifest_type: "go",
    files: &[Files::Named("go.mod")],
    parse,
};

fn parse(source: &Source<'_>) -> Result<Manifest, ManifestError> {
    let Some(path) = module_path(&source.text) else {
        return Err(ManifestError::NotAManifest("not one module path"));
    };
    // A path can be fetched only if its first element is a host.
    let has_host = path
        .split('/')
        .next()
        .is_some_and(|host| host.contains('.'));
    let mut manifest = source.named(Some(path));
    if has_host {
        manifest.intent = Intent::Yes;
    } else {
        manifest.deny("module path without host");
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
