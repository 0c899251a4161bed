//! `Name: value` fields with indented continuation lines, as Debian's control files have them.

/// One field.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    /// The value with its continuation lines, joined by line breaks.
    pub(super) value: String,
}

/// The fields of the paragraphs of a file; paragraphs are separated by empty lines.
pub(super) fn paragraphs(text: &str) -> Vec<Vec<Field<'_>>> {
    let mut paragraphs: Vec<Vec<Field<'_>>> = Vec::new();
    let mut current: Vec<Field<'_>> = Vec::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            if !current.is_empty() {
                paragraphs.push(std::mem::take(&mut current));
            }
        } else if line.starts_with('#') {
            // A comment.
        } else if line.starts_with([' ', '\t']) {
            if let Some(field) = current.last_mut() {
                field.value.push('\n');
                field.value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            current.push(Field {
                name: name.trim_end(),
                value: value.trim().to_owned(),
            });
        }
    }
    if !current.is_empty() {
        paragraphs.push(current);
    }
    paragraphs
}

/// The value of a field, which may not stand twice.
pub(super) fn value<'f>(fields: &'f [Field<'_>], name: &str) -> Option<&'f str> {
    let mut found = fields
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case(name));
    let value = found.next()?.value.as_str();
    found.next().is_none().then_some(value)
}
