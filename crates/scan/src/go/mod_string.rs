//! The words of go.mod that may be quoted.

/// A word, unquoted when it is quoted.
pub(super) fn plain(word: &str) -> Result<String, String> {
    if word.starts_with('"') {
        return unquote(word).ok_or_else(|| format!("{word} is not a string"));
    }
    if word.contains(['"', '\'', '`']) {
        return Err(format!("{word} holds a quote"));
    }
    Ok(word.to_owned())
}

/// A string literal of Go; `None` also for one that is not UTF-8.
pub(super) fn unquote(literal: &str) -> Option<String> {
    let body = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(body.len());
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return None,
            '\\' => escaped(&mut chars, &mut bytes)?,
            c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    String::from_utf8(bytes).ok()
}

fn escaped(chars: &mut std::str::Chars<'_>, bytes: &mut Vec<u8>) -> Option<()> {
    let number = |chars: &mut std::str::Chars<'_>, first: Option<char>, count: usize, base: u32| {
        let mut value = first.map_or(Some(0), |c| c.to_digit(base))?;
        for _ in 0..count {
            value = value
                .checked_mul(base)?
                .checked_add(chars.next()?.to_digit(base)?)?;
        }
        Some(value)
    };
    let simple = match chars.next()? {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        '"' => b'"',
        'x' => u8::try_from(number(chars, None, 2, 16)?).ok()?,
        octal @ '0'..='7' => u8::try_from(number(chars, Some(octal), 2, 8)?).ok()?,
        wide @ ('u' | 'U') => {
            let digits = if wide == 'u' { 4 } else { 8 };
            let c = char::from_u32(number(chars, None, digits, 16)?)?;
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(());
        }
        _ => return None,
    };
    bytes.push(simple);
    Some(())
}
