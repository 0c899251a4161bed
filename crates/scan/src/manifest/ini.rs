//! Sections of `key = value`, as Python's configuration parser reads them.

/// Whether there is a section of this name.
pub(super) fn has_section(text: &str, section: &str) -> bool {
    text.lines()
        .any(|line| section_name(line.trim()) == Some(section))
}

/// The value of a key in a section; nothing if it stands twice.
///
/// Keys are compared without regard to case and to `-` against `_`. An indented line continues the
/// value before it; where the first key of a section is indented, so are the others.
pub(super) fn value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut found: Option<String> = None;
    let mut inside = false;
    // The indentation of the option that a deeper line would continue.
    let mut option_indent: Option<usize> = None;
    let mut continues = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        if option_indent.is_some_and(|option| indent > option) {
            if let (true, Some(value)) = (continues, &mut found) {
                value.push('\n');
                value.push_str(trimmed);
            }
            continue;
        }
        continues = false;
        if let Some(name) = section_name(trimmed) {
            inside = name == section;
            option_indent = None;
            continue;
        }
        option_indent = Some(indent);
        if inside
            && let Some((name, value)) = trimmed.split_once(['=', ':'])
            && same_key(name.trim(), key)
        {
            if found.is_some() {
                return None;
            }
            found = Some(value.trim().to_owned());
            continues = true;
        }
    }
    found
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

/// `[name]` at the start of a line.
fn section_name(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.split(']').next()
}

fn same_key(written: &str, key: &str) -> bool {
    written.len() == key.len()
        && written
            .bytes()
            .zip(key.bytes())
            .all(|(a, b)| a.eq_ignore_ascii_case(&b) || (a == b'-' && b == b'_'))
}
