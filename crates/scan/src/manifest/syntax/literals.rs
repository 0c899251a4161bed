//! String literals, in each dialect's forms.

use std::borrow::Cow;

use super::Dialect;
use super::lexer::Lexer;

/// A string: where it ends and, if it is a constant, what it stands for.
pub(super) struct Literal<'a> {
    pub(super) end: usize,
    pub(super) value: Option<Cow<'a, str>>,
}

/// How the inside of a string is read.
#[derive(Clone, Copy)]
struct Rules {
    /// Backslashes escape.
    escapes: bool,
    /// May hold line breaks.
    lines: bool,
    /// What starts an expression inside the string.
    interpolation: Interpolation,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Interpolation {
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

const PLAIN: Rules = Rules {
    escapes: true,
    lines: false,
    interpolation: Interpolation::None,
};
const RAW: Rules = Rules {
    escapes: false,
    lines: false,
    interpolation: Interpolation::None,
};

/// The literal that starts where the lexer stands, if one does.
pub(super) fn literal<'a>(lexer: &mut Lexer<'a>) -> Option<Literal<'a>> {
    let rest = &lexer.bytes[lexer.at..];
    match lexer.dialect {
        Dialect::Python => python(lexer, rest),
        Dialect::Ruby => ruby(lexer, rest),
        Dialect::Elixir => elixir(lexer, rest),
        Dialect::Swift => swift(lexer, rest),
        Dialect::Groovy => groovy(lexer, rest),
        Dialect::Kotlin => kotlin(lexer, rest),
        Dialect::Scala => scala(lexer, rest),
        Dialect::Clojure => clojure(lexer, rest),
        Dialect::Lua => lua(lexer, rest),
        Dialect::Nim => nim(lexer, rest),
        Dialect::Zig => zig(lexer, rest),
        Dialect::Opam => match rest {
            [b'"', b'"', b'"', ..] => Some(tripled(lexer, 0, b'"', PLAIN)),
            [b'"', ..] => Some(quoted(
                lexer,
                0,
                Rules {
                    lines: true,
                    ..PLAIN
                },
            )),
            _ => None,
        },
        Dialect::Sdl => match rest {
            [b'"', ..] => Some(quoted(lexer, 0, PLAIN)),
            [b'`', ..] => Some(quoted(lexer, 0, Rules { lines: true, ..RAW })),
            _ => None,
        },
    }
}

fn python<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    // A prefix is at most two letters: r, b, u, f, t in any case and order.
    let prefix = rest
        .iter()
        .take(3)
        .position(|byte| matches!(byte, b'\'' | b'"'))?;
    let marks = &rest[..prefix];
    if !marks.iter().all(|byte| b"rRbBuUfFtT".contains(byte)) {
        return None;
    }
    let has = |letter: u8| marks.iter().any(|mark| mark.eq_ignore_ascii_case(&letter));
    let rules = Rules {
        escapes: !has(b'r'),
        lines: false,
        interpolation: if has(b'f') || has(b't') {
            Interpolation::Brace
        } else {
            Interpolation::None
        },
    };
    let quote = rest[prefix];
    let mut literal = if rest[prefix..].starts_with(&[quote; 3]) {
        tripled(lexer, prefix, quote, rules)
    } else {
        quoted(lexer, prefix, rules)
    };
    if has(b'b') {
        literal.value = None;
    }
    Some(literal)
}

fn ruby<'a>(lexer: &mut Lexer<'a>, rest: &'a [u8]) -> Option<Literal<'a>> {
    let hash = Rules {
        lines: true,
        interpolation: Interpolation::Hash,
        ..PLAIN
    };
    match rest {
        [b'"', ..] => Some(quoted(lexer, 0, hash)),
        [b'\'', ..] => Some(quoted(
            lexer,
            0,
            Rules {
                lines: true,
                ..PLAIN
            },
        )),
        [b'`', ..] => Some(without_value(quoted(lexer, 0, hash))),
        [b':', b'"', ..] => Some(quoted(lexer, 1, hash)),
        [b'/', ..] if lexer.expects_value() => slashed(lexer),
        [b'%', b'q', open, ..] if is_delimiter(*open) => Some(bracketed(
            lexer,
            2,
            Rules {
                lines: true,
                ..PLAIN
            },
        )),
        [b'%', b'Q', open, ..] if is_delimiter(*open) => Some(bracketed(lexer, 2, hash)),
        [
            b'%',
            b'w' | b'W' | b'i' | b'I' | b'r' | b'x' | b's',
            open,
            ..,
        ] if is_delimiter(*open) => Some(without_value(bracketed(lexer, 2, hash))),
        [b'%', b'(' | b'[' | b'{' | b'|' | b'!', ..] if lexer.expects_value() => {
            Some(bracketed(lexer, 1, hash))
        }
        [b'<', b'<', tail @ ..] if lexer.expects_value() => heredoc(lexer, tail),
        [b'?', letter, after, ..]
            if lexer.expects_value()
                && letter.is_ascii_graphic()
                && !after.is_ascii_alphanumeric() =>
        {
            Some(Literal {
                end: lexer.at + 2,
                value: None,
            })
        }
        _ => None,
    }
}

fn elixir<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    let hash = Rules {
        lines: true,
        interpolation: Interpolation::Hash,
        ..PLAIN
    };
    match rest {
        [b'"', b'"', b'"', ..] => Some(tripled(lexer, 0, b'"', hash)),
        [b'\'', b'\'', b'\'', ..] => Some(tripled(lexer, 0, b'\'', hash)),
        [b'"' | b'\'', ..] => Some(quoted(lexer, 0, hash)),
        [b':', b'"' | b'\'', ..] => Some(quoted(lexer, 1, hash)),
        [b'~', letter, open, ..] if letter.is_ascii_alphabetic() => {
            let rules = if letter.is_ascii_uppercase() {
                Rules { lines: true, ..RAW }
            } else {
                hash
            };
            let literal = if rest[2..].starts_with(b"\"\"\"") || rest[2..].starts_with(b"'''") {
                tripled(lexer, 2, *open, rules)
            } else if is_delimiter(*open) {
                bracketed(lexer, 2, rules)
            } else {
                return None;
            };
            let is_string = matches!(letter, b's' | b'S');
            Some(if is_string {
                literal
            } else {
                without_value(literal)
            })
        }
        [b'?', b'\\', _, ..] => Some(Literal {
            end: lexer.at + 3,
            value: None,
        }),
        [b'?', letter, ..] if letter.is_ascii_graphic() && lexer.expects_value() => Some(Literal {
            end: lexer.at + 2,
            value: None,
        }),
        _ => None,
    }
}

fn swift<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    let rules = Rules {
        interpolation: Interpolation::Backslash,
        ..PLAIN
    };
    match rest {
        [b'"', b'"', b'"', ..] => Some(tripled(lexer, 0, b'"', rules)),
        [b'"', ..] => Some(quoted(lexer, 0, rules)),
        // Raw strings are closed by a quote and as many hashes.
        [b'#', ..] => {
            let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
            if rest.get(hashes) != Some(&b'"') || hashes > 16 {
                return None;
            }
            let mut closing = vec![b'"'];
            closing.resize(hashes + 1, b'#');
            let start = lexer.at + hashes + 1;
            Some(until(lexer, start, &closing))
        }
        _ => None,
    }
}

fn groovy<'a>(lexer: &mut Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    let dollar = Rules {
        interpolation: Interpolation::Dollar,
        ..PLAIN
    };
    match rest {
        [b'"', b'"', b'"', ..] => Some(tripled(lexer, 0, b'"', dollar)),
        [b'\'', b'\'', b'\'', ..] => Some(tripled(lexer, 0, b'\'', PLAIN)),
        [b'"', ..] => Some(quoted(lexer, 0, dollar)),
        [b'\'', ..] => Some(quoted(lexer, 0, PLAIN)),
        [b'$', b'/', ..] => Some(without_value(until(lexer, lexer.at + 2, b"/$"))),
        [b'/', ..] if lexer.expects_value() => slashed(lexer),
        _ => None,
    }
}

fn kotlin<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    let dollar = Rules {
        interpolation: Interpolation::Dollar,
        ..PLAIN
    };
    match rest {
        [b'"', b'"', b'"', ..] => Some(tripled(
            lexer,
            0,
            b'"',
            Rules {
                escapes: false,
                ..dollar
            },
        )),
        [b'"', ..] => Some(quoted(lexer, 0, dollar)),
        [b'\'', ..] => Some(without_value(quoted(lexer, 0, PLAIN))),
        _ => None,
    }
}

fn scala<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    let interpolated = matches!(rest, [b's' | b'f', b'"', ..]);
    let start = usize::from(interpolated);
    let interpolation = if interpolated {
        Interpolation::Dollar
    } else {
        Interpolation::None
    };
    match &rest[start..] {
        [b'"', b'"', b'"', ..] => Some(tripled(
            lexer,
            start,
            b'"',
            Rules {
                interpolation,
                ..RAW
            },
        )),
        [b'"', ..] => Some(quoted(
            lexer,
            start,
            Rules {
                interpolation,
                ..PLAIN
            },
        )),
        // A character; a lone quote starts a symbol.
        [b'\'', b'\\', _, b'\'', ..] => Some(Literal {
            end: lexer.at + 4,
            value: None,
        }),
        [b'\'', _, b'\'', ..] => Some(Literal {
            end: lexer.at + 3,
            value: None,
        }),
        _ => None,
    }
}

fn clojure<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    match rest {
        [b'"', ..] => Some(quoted(
            lexer,
            0,
            Rules {
                lines: true,
                ..PLAIN
            },
        )),
        [b'#', b'"', ..] => Some(without_value(quoted(
            lexer,
            1,
            Rules {
                lines: true,
                ..PLAIN
            },
        ))),
        // `\a`, `\newline`, `\(`
        [b'\\', _, tail @ ..] => {
            let more = tail
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric())
                .count();
            let end = lexer.at + 2 + more;
            Some(Literal { end, value: None })
        }
        _ => None,
    }
}

fn lua<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    match rest {
        [b'"' | b'\'', ..] => Some(quoted(lexer, 0, PLAIN)),
        [b'[', b'[' | b'=', ..] => {
            let end = long_bracket_end(rest, 0)?;
            let level = rest[1..].iter().take_while(|byte| **byte == b'=').count();
            let inside = level + 2..end.saturating_sub(level + 2).max(level + 2);
            let value = lexer
                .text
                .get(lexer.at + inside.start..lexer.at + inside.end);
            Some(Literal {
                end: lexer.at + end,
                value: value.map(Cow::Borrowed),
            })
        }
        _ => None,
    }
}

fn nim<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    match rest {
        [b'"', b'"', b'"', ..] => Some(tripled(lexer, 0, b'"', RAW)),
        [b'r' | b'R', b'"', ..] => Some(quoted(lexer, 1, RAW)),
        [b'"', ..] => Some(quoted(lexer, 0, PLAIN)),
        [b'\'', ..] => Some(without_value(quoted(lexer, 0, PLAIN))),
        _ => None,
    }
}

fn zig<'a>(lexer: &Lexer<'a>, rest: &[u8]) -> Option<Literal<'a>> {
    match rest {
        [b'"', ..] => Some(quoted(lexer, 0, PLAIN)),
        [b'\'', ..] => Some(without_value(quoted(lexer, 0, PLAIN))),
        // A line of a multi-line string.
        [b'\\', b'\\', ..] => {
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            Some(Literal {
                end: lexer.at + length,
                value: None,
            })
        }
        _ => None,
    }
}

fn without_value(literal: Literal<'_>) -> Literal<'_> {
    Literal {
        value: None,
        ..literal
    }
}

/// A string between single quotes of any sort; `skip` bytes stand before the opening one.
fn quoted<'a>(lexer: &Lexer<'a>, skip: usize, rules: Rules) -> Literal<'a> {
    let open = lexer.at + skip;
    delimited(lexer, open + 1, &[lexer.bytes[open]], None, rules)
}

/// A string between tripled quotes.
fn tripled<'a>(lexer: &Lexer<'a>, skip: usize, quote: u8, rules: Rules) -> Literal<'a> {
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
fn bracketed<'a>(lexer: &Lexer<'a>, skip: usize, rules: Rules) -> Literal<'a> {
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

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_punctuation() && !matches!(byte, b',' | b'=' | b'.' | b';' | b')' | b']' | b'}')
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
        if *byte == b'\\' && rules.interpolation == Interpolation::Backslash {
            if bytes.get(at + 1) == Some(&b'(') {
                constant = false;
                at = expression_end(bytes, at + 1, b'(', b')', rules.lines);
                continue;
            }
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
            Some(_) => {}
            None if matches!(byte, b'"' | b'\'') => quote = Some(*byte),
            None if *byte == open => depth += 1,
            None if *byte == close => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            None => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Everything up to a closing mark, verbatim.
fn until<'a>(lexer: &Lexer<'a>, start: usize, close: &[u8]) -> Literal<'a> {
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

/// `/…/`, if it closes on the same line.
fn slashed<'a>(lexer: &mut Lexer<'a>) -> Option<Literal<'a>> {
    if lexer.at < lexer.no_slash_before || !lexer.dialect.has_slash_literals() {
        return None;
    }
    let mut at = lexer.at + 1;
    while let Some(byte) = lexer.bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'/' => {
                return Some(Literal {
                    end: at + 1,
                    value: None,
                });
            }
            b'\n' => break,
            _ => at += 1,
        }
    }
    lexer.no_slash_before = at;
    None
}

/// `<<~NAME` and its kin: the body starts on the next line; the literal itself has no value.
fn heredoc<'a>(lexer: &mut Lexer<'a>, tail: &'a [u8]) -> Option<Literal<'a>> {
    let squiggle = usize::from(matches!(tail.first(), Some(b'~' | b'-')));
    let quote = tail
        .get(squiggle)
        .copied()
        .filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let start = lexer.at + 2 + squiggle + usize::from(quote.is_some());
    let first = *lexer.bytes.get(start)?;
    if !(first.is_ascii_uppercase()
        || (squiggle == 1 || quote.is_some()) && first.is_ascii_alphabetic())
    {
        return None;
    }
    let end = lexer.word_end(start)?;
    let terminator = lexer.text.get(start..end)?;
    lexer.heredocs.push(terminator);
    let closes = quote.is_some() && lexer.bytes.get(end).copied() == quote;
    Some(Literal {
        end: end + usize::from(closes),
        value: None,
    })
}

/// Past the line that holds nothing but the terminator.
pub(super) fn heredoc_end(bytes: &[u8], start: usize, terminator: &str) -> usize {
    let mut at = start;
    while at < bytes.len() {
        let line_end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n);
        let line = bytes[at..line_end].trim_ascii();
        at = (line_end + 1).min(bytes.len());
        if line == terminator.as_bytes() {
            break;
        }
    }
    at
}

/// The length of Lua's `[==[…]==]` when its brackets start after `skip` bytes.
pub(super) fn long_bracket_end(rest: &[u8], skip: usize) -> Option<usize> {
    let level = rest
        .get(skip + 1..)?
        .iter()
        .take_while(|byte| **byte == b'=')
        .count();
    if rest.get(skip) != Some(&b'[') || rest.get(skip + 1 + level) != Some(&b'[') || level > 16 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::syntax::{Kind, Tree};

    fn values(text: &str, dialect: Dialect) -> Vec<Option<String>> {
        let tree = Tree::read(text, dialect).expect("small");
        (0..tree.len())
            .filter(|at| tree.kind(*at) == Some(Kind::Text))
            .map(|at| tree.literal(at).map(str::to_owned))
            .collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn python_strings() {
        assert_eq!(
            values(
                r#"a = 'x' u"y" '''z''' f"{a}" f"b" b"c" r"\d" "it\'s" # 'no'"#,
                Dialect::Python
            ),
            [
                some("x"),
                some("y"),
                some("z"),
                None,
                some("b"),
                None,
                some(r"\d"),
                some("it's")
            ]
        );
        assert_eq!(
            values("a = 'open\nb = 'x'", Dialect::Python),
            [None, some("x")]
        );
    }

    #[test]
    fn ruby_strings() {
        assert_eq!(
            values(
                "a = %q{x{y}} + \"#{b(\"}\")}\" + 'c' \n d = x.split(/'/) \n 'e'",
                Dialect::Ruby
            ),
            [some("x{y}"), None, some("c"), None, some("e")]
        );
        assert_eq!(
            values(
                "a = <<~EOS\n s.name = 'no'\nEOS\nb = 'yes'\n__END__\n'no'",
                Dialect::Ruby
            ),
            [None, some("yes")]
        );
    }

    #[test]
    fn strings_of_the_other_dialects() {
        assert_eq!(
            values("~r/\"/ \"a\" ~s(b)", Dialect::Elixir),
            [None, some("a"), some("b")]
        );
        assert_eq!(
            values("\"\\(x(\"a\"))\" #\"b\"#", Dialect::Swift),
            [None, some("b")]
        );
        assert_eq!(
            values("\"$x\" '$x' \"a\"", Dialect::Groovy),
            [None, some("$x"), some("a")]
        );
        assert_eq!(
            values("[==[a]]b]==] -- 'c'\n'd'", Dialect::Lua),
            [some("a]]b"), some("d")]
        );
        assert_eq!(
            values("s\"$a\" \"$b\" '\"' \"c\"", Dialect::Scala),
            [None, some("$b"), None, some("c")]
        );
    }
}
