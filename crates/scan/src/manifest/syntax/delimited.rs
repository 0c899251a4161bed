//! The inside of string literals: delimiters, escapes, expressions.

use std::borrow::Cow;

use super::lexer::Lexer;

/// Marks around a raw string that are counted; a longer row of them is no string. Without a limit
/// each mark of a row would count all that follow.
pub(super) const MAX_MARKS: usize = 16;

/// A string: where it ends and, if it is a constant, what it stands for.
pub(super) struct Literal<'a> {
    pub(super) end: usize,
    pub(super) value: Option<Cow<'a, str>>,
}

/// How the inside of a string is read.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Backslashes escape.
    pub(super) escapes: bool,
    /// May hold line breaks.
    pub(super) lines: bool,
    /// What starts an expression inside the string.
    pub(super) interpolation: Interpolation,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Interpolation {
    None,
    /// `#{…}`
    Hash,
    /// `${…}` and `$word`
    Dollar,
    /// `\(…)`
    Backslash,
    /// Python's `{…}`
    Brace,
}

pub(super) const PLAIN: Rules = Rules {
    escapes: true,
    lines: false,
    interpolation: Interpolation::None,
};
pub(super) const RAW: Rules = Rules {
    escapes: false,
    lines: false,
    interpolation: Interpolation::None,
};

/// A string between single quotes of any sort; `skip` bytes stand before the opening one.
pub(super) fn quoted<'a>(lexer: &Lexer<'a>, skip: usize, rules: Rules) -> Literal<'a> {
    let open = lexer.at + skip;
    delimited(lexer, open + 1, &[lexer.bytes[open]], None, rules)
}

/// A string between tripled quotes.
pub(super) fn tripled<'a>(lexer: &Lexer<'a>, skip: usize, quote: u8, rules: Rules) -> Literal<'a> {
    let start = lexer.at + skip + 3;
    delimited(
        lexer,
        start,
        &[quote; 3],
        None,
        Rules {
            lines: true,
            ..rules
        },
    )
}

/// `%q(…)`, `~w[…]`: the opening bracket stands after `skip` bytes and may nest.
pub(super) fn bracketed<'a>(lexer: &Lexer<'a>, skip: usize, rules: Rules) -> Literal<'a> {
    let at = lexer.at + skip;
    let open = lexer.bytes[at];
    let close = match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    };
    let nests = (close != open).then_some(open);
    delimited(
        lexer,
        at + 1,
        &[close],
        nests,
        Rules {
            lines: true,
            ..rules
        },
    )
}

/// Reads to the closing delimiter. An unclosed string of one line ends with its line, any other
/// with the text; neither has a value.
fn delimited<'a>(
    lexer: &Lexer<'a>,
    start: usize,
    close: &[u8],
    nests: Option<u8>,
    rules: Rules,
) -> Literal<'a> {
    let bytes = lexer.bytes;
    let mut at = start;
    let mut depth = 0_usize;
    let mut constant = true;
    let mut escaped = false;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\'
            && rules.interpolation == Interpolation::Backslash
            && bytes.get(at + 1) == Some(&b'(')
        {
            constant = false;
            at = expression_end(bytes, at + 1, b'(', b')', rules.lines);
            continue;
        }
        if *byte == b'\\' && (rules.escapes || at + 1 < bytes.len() && close == [bytes[at + 1]]) {
            escaped = true;
            at += 2;
        } else if *byte == b'\n' && !rules.lines {
            return Literal {
                end: at,
                value: None,
            };
        } else if bytes[at..].starts_with(close) && depth == 0 {
            let value = constant.then(|| lexer.text.get(start..at)).flatten();
            let value = match value {
                Some(text) if escaped && rules.escapes => unescape(text).map(Cow::Owned),
                Some(text) => Some(Cow::Borrowed(text)),
                None => None,
            };
            return Literal {
                end: at + close.len(),
                value,
            };
        } else if nests == Some(*byte) {
            depth += 1;
            at += 1;
        } else if depth > 0 && close == [*byte] {
            depth -= 1;
            at += 1;
        } else if interpolates(bytes, at, rules.interpolation) {
            constant = false;
            at = match rules.interpolation {
                Interpolation::Hash | Interpolation::Dollar if bytes.get(at + 1) == Some(&b'{') => {
                    expression_end(bytes, at + 1, b'{', b'}', rules.lines)
                }
                _ => at + 1,
            };
        } else {
            at += 1;
        }
    }
    Literal {
        end: bytes.len(),
        value: None,
    }
}

fn interpolates(bytes: &[u8], at: usize, interpolation: Interpolation) -> bool {
    let next = bytes.get(at + 1);
    match interpolation {
        Interpolation::None | Interpolation::Backslash => false,
        Interpolation::Hash => bytes[at] == b'#' && next == Some(&b'{'),
        Interpolation::Dollar => {
            bytes[at] == b'$'
                && next.is_some_and(|b| *b == b'{' || *b == b'_' || b.is_ascii_alphabetic())
        }
        Interpolation::Brace => matches!(bytes[at], b'{' | b'}'),
    }
}

/// The end of an expression inside a string. Strings inside it are skipped, so that their quotes
/// do not end the outer one; deeper strings inside those are not told apart, which at worst
/// misjudges where this one string ends.
fn expression_end(bytes: &[u8], open_at: usize, open: u8, close: u8, lines: bool) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut at = open_at;
    while let Some(byte) = bytes.get(at) {
        match quote {
            _ if *byte == b'\n' && !lines => return at,
            Some(_) if *byte == b'\\' => at += 1,
            Some(mark) if mark == *byte => quote = None,
            None if matches!(byte, b'"' | b'\'') => quote = Some(*byte),
            None if *byte == open => depth += 1,
            None if *byte == close => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Everything up to a closing mark, verbatim.
pub(super) fn until<'a>(lexer: &Lexer<'a>, start: usize, close: &[u8]) -> Literal<'a> {
    match memchr::memmem::find(&lexer.bytes[start..], close) {
        Some(length) => Literal {
            end: start + length + close.len(),
            value: lexer.text.get(start..start + length).map(Cow::Borrowed),
        },
        None => Literal {
            end: lexer.bytes.len(),
            value: None,
        },
    }
}

/// The length of Lua's `[==[…]==]` when its brackets start after `skip` bytes.
pub(super) fn long_bracket_end(rest: &[u8], skip: usize) -> Option<usize> {
    let level = rest
        .get(skip + 1..)?
        .iter()
        .take(MAX_MARKS + 1)
        .take_while(|byte| **byte == b'=')
        .count();
    if rest.get(skip) != Some(&b'[')
        || rest.get(skip + 1 + level) != Some(&b'[')
        || level > MAX_MARKS
    {
        return None;
    }
    let mut closing = vec![b']'];
    closing.resize(level + 1, b'=');
    closing.push(b']');
    let start = skip + level + 2;
    Some(
        memchr::memmem::find(&rest[start..], &closing)
            .map_or(rest.len(), |at| start + at + closing.len()),
    )
}

/// The usual escapes; nothing for those that cannot matter to a name.
fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            plain.push(char);
            continue;
        }
        match chars.next()? {
            same @ ('\\' | '"' | '\'' | '/' | '$' | '#' | '`') => plain.push(same),
            'n' => plain.push('\n'),
            't' => plain.push('\t'),
            'r' => plain.push('\r'),
            '\n' => {}
            _ => return None,
        }
    }
    Some(plain)
}

/// The next offset at which a character starts.
pub(super) fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at.min(text.len())
}
