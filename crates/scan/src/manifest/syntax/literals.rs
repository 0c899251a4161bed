//! String literals, in each dialect's forms.

use std::borrow::Cow;

use super::Dialect;
use super::delimited::{
    Interpolation, Literal, MAX_MARKS, PLAIN, RAW, Rules, bracketed, long_bracket_end, quoted,
    tripled, until,
};
use super::lexer::Lexer;

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
            let hashes = rest
                .iter()
                .take(MAX_MARKS + 1)
                .take_while(|byte| **byte == b'#')
                .count();
            if rest.get(hashes) != Some(&b'"') || hashes > MAX_MARKS {
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
            let level = rest[1..]
                .iter()
                .take(MAX_MARKS + 1)
                .take_while(|byte| **byte == b'=')
                .count();
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

fn without_value(mut literal: Literal<'_>) -> Literal<'_> {
    literal.value = None;
    literal
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_punctuation() && !matches!(byte, b',' | b'=' | b'.' | b';' | b')' | b']' | b'}')
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::syntax::{Kind, Tree};

    /// The values of all strings, `?` for one that is computed.
    fn values(text: &str, dialect: Dialect) -> Vec<String> {
        let tree = Tree::read(text, dialect).expect("small");
        (0..tree.len())
            .filter(|at| tree.kind(*at) == Some(Kind::Text))
            .map(|at| tree.literal(at).unwrap_or("?").to_owned())
            .collect()
    }

    #[test]
    fn python_strings() {
        let text = r#"a = 'x' u"y" '''z''' f"{a}" f"b" b"c" r"\d" "it\'s" # 'no'"#;
        assert_eq!(
            values(text, Dialect::Python),
            ["x", "y", "z", "?", "b", "?", r"\d", "it's"]
        );
        assert_eq!(values("a = 'open\nb = 'x'", Dialect::Python), ["?", "x"]);
    }

    #[test]
    fn ruby_strings() {
        let text = "a = %q{x{y}} + \"#{b(\"}\")}\" + 'c' \n d = x.split(/'/) \n 'e'";
        assert_eq!(values(text, Dialect::Ruby), ["x{y}", "?", "c", "?", "e"]);
        let text = "a = <<~EOS\n s.name = 'no'\nEOS\nb = 'yes'\n__END__\n'no'";
        assert_eq!(values(text, Dialect::Ruby), ["?", "yes"]);
    }

    #[test]
    fn strings_of_the_other_dialects() {
        assert_eq!(
            values("~r/\"/ \"a\" ~s(b)", Dialect::Elixir),
            ["?", "a", "b"]
        );
        assert_eq!(
            values("\"\\(x(\"a\"))\" #\"b\"#", Dialect::Swift),
            ["?", "b"]
        );
        assert_eq!(
            values("\"$x\" '$x' \"a\"", Dialect::Groovy),
            ["?", "$x", "a"]
        );
        assert_eq!(
            values("[==[a]]b]==] -- 'c'\n'd'", Dialect::Lua),
            ["a]]b", "d"]
        );
        assert_eq!(
            values("s\"$a\" \"$b\" '\"' \"c\"", Dialect::Scala),
            ["?", "$b", "?", "c"]
        );
    }
}
