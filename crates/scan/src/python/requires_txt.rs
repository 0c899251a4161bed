//! `requires.txt` of setuptools, from before requirements stood in the metadata.
//!
//! Requirements are grouped under `[extra]`, `[:marker]` or `[extra:marker]`.
//! They are turned into the strings `Requires-Dist` would have, the way Python's
//! own `importlib.metadata` does for an installed egg.

/// What the file asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiresTxt {
    pub requires_dist: Vec<String>,
    pub extras: Vec<String>,
}

impl RequiresTxt {
    pub fn parse(bytes: &[u8]) -> RequiresTxt {
        let text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
        let mut file = RequiresTxt::default();
        let mut condition = String::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(section) = line
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                let (extra, marker) = section.split_once(':').unwrap_or((section, ""));
                let (extra, marker) = (extra.trim(), marker.trim());
                if !extra.is_empty() && !file.extras.iter().any(|known| known == extra) {
                    file.extras.push(extra.to_owned());
                }
                condition = joined(marker, extra);
                continue;
            }
            file.requires_dist.push(conditioned(line, &condition));
        }
        file
    }
}

fn joined(marker: &str, extra: &str) -> String {
    match (marker, extra) {
        ("", "") => String::new(),
        (marker, "") => marker.to_owned(),
        ("", extra) => format!("extra == \"{extra}\""),
        (marker, extra) => format!("({marker}) and extra == \"{extra}\""),
    }
}

fn conditioned(requirement: &str, condition: &str) -> String {
    if condition.is_empty() {
        return requirement.to_owned();
    }
    // A `;` inside an address belongs to it, unless a space comes before.
    let separator = if requirement.contains('@') { " ;" } else { ";" };
    match requirement.split_once(separator) {
        Some((requirement, marker)) => {
            format!(
                "{}{separator} ({}) and {condition}",
                requirement.trim(),
                marker.trim()
            )
        }
        None => format!("{requirement}{separator} {condition}"),
    }
}
