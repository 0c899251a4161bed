//! `entry_points.txt`: commands and plugins a distribution offers.

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint {
    pub group: String,
    pub name: String,
    /// `module:attribute`, perhaps with extras.
    pub target: String,
}

impl EntryPoint {
    /// All entry points of a file; lines that are none are passed over.
    pub fn parse_all(bytes: &[u8]) -> Vec<EntryPoint> {
        let text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
        let mut group: Option<&str> = None;
        let mut found = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                group = Some(name.trim());
            } else if let (Some(group), Some((name, target))) = (group, line.split_once('=')) {
                if line.starts_with(['#', ';']) || name.trim().is_empty() {
                    continue;
                }
                found.push(EntryPoint {
                    group: group.to_owned(),
                    name: name.trim().to_owned(),
                    target: target.trim().to_owned(),
                });
            }
        }
        found
    }
}
