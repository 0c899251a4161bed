//! The shape of go.mod: directives, blocks and the comments that belong to them.
//!
//! Comments matter because Go keeps deprecations and the reasons of retractions
//! in them. Which comment belongs to which line follows the go command: whole
//! lines above (up to a blank line, outside of a block) and the rest of the line
//! itself; a line in a block that has neither inherits the block's.

use super::mod_file::Problem;

/// One directive with its arguments, blocks unrolled.
#[derive(Debug, Default)]
pub(super) struct Directive {
    pub(super) line: usize,
    pub(super) verb: String,
    pub(super) arguments: Vec<String>,
    /// The text of its comments, one line per comment.
    pub(super) comment: String,
    /// Stands in `verb ( … )`.
    pub(super) in_block: bool,
}

/// Splits the text into directives. The whole file fails on the first error,
/// since whatever follows could belong to another block.
pub(super) fn directives(text: &str) -> Result<Vec<Directive>, Problem> {
    let mut found = Vec::new();
    let mut above: Vec<&str> = Vec::new();
    let mut block: Option<Block<'_>> = None;
    for (index, raw) in text.split('\n').enumerate() {
        let number = index + 1;
        let line = tokens(raw).map_err(|what| Problem {
            line: number,
            what: what.to_owned(),
        })?;
        let fail = |what: &str| {
            Err(Problem {
                line: number,
                what: what.to_owned(),
            })
        };
        match (&mut block, line.words.as_slice()) {
            (None, []) => match line.comment {
                Some(comment) => above.push(comment),
                None => above.clear(),
            },
            (None, words) => {
                match words {
                    [head @ .., "("] if !head.is_empty() => {
                        block = Some(Block::open(head, std::mem::take(&mut above)));
                    }
                    [head @ .., "(", ")"] if !head.is_empty() => {}
                    _ => found.push(Directive {
                        line: number,
                        verb: words[0].to_owned(),
                        arguments: owned(&words[1..]),
                        comment: comment_text(&above, line.comment),
                        in_block: false,
                    }),
                }
                above.clear();
            }
            (Some(open), []) => open.note(line.comment),
            (Some(_), [")"]) => block = None,
            (Some(_), [")", ..]) => return fail("text after the closing parenthesis"),
            (Some(open), words) => {
                open.lines += 1;
                let pending = std::mem::take(&mut open.pending);
                let comment = if pending.is_empty() && line.comment.is_none() {
                    comment_text(&open.above, None)
                } else {
                    comment_text(&pending, line.comment)
                };
                // `verb word (` opens a block of a kind Go does not know; it is skipped.
                if let [verb] = open.words.as_slice() {
                    found.push(Directive {
                        line: number,
                        verb: verb.clone(),
                        arguments: owned(words),
                        comment,
                        in_block: true,
                    });
                }
            }
        }
    }
    match block {
        Some(_) => Err(Problem {
            line: text.split('\n').count(),
            what: "the block is not closed".to_owned(),
        }),
        None => Ok(found),
    }
}

struct Block<'a> {
    words: Vec<String>,
    /// Comments above the block itself.
    above: Vec<&'a str>,
    /// Comments above the next line; an empty string stands for a blank line,
    /// which hides the block's own comments from that line as it does in Go.
    pending: Vec<&'a str>,
    lines: usize,
}

impl<'a> Block<'a> {
    fn open(words: &[&str], above: Vec<&'a str>) -> Self {
        Block {
            words: owned(words),
            above,
            pending: Vec::new(),
            lines: 0,
        }
    }

    fn note(&mut self, comment: Option<&'a str>) {
        if let Some(comment) = comment {
            self.pending.push(comment);
            return;
        }
        let after_a_line = self.pending.is_empty() && self.lines > 0;
        if after_a_line || self.pending.last().is_some_and(|last| !last.is_empty()) {
            self.pending.push("");
        }
    }
}

struct Tokens<'a> {
    words: Vec<&'a str>,
    /// From `//` on.
    comment: Option<&'a str>,
}

fn tokens(line: &str) -> Result<Tokens<'_>, &'static str> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r']);
        let Some(first) = rest.chars().next() else {
            return Ok(Tokens {
                words,
                comment: None,
            });
        };
        if rest.starts_with("//") {
            return Ok(Tokens {
                words,
                comment: Some(rest.trim_end_matches('\r')),
            });
        }
        if rest.starts_with("/*") {
            return Err("comments are written //");
        }
        let end = match first {
            '(' | ')' | '[' | ']' | '{' | '}' | ',' => 1,
            '"' | '`' => quoted_end(rest, first).ok_or("the string is not closed")?,
            _ => word_end(rest)?,
        };
        let (word, tail) = rest.split_at(end);
        words.push(word);
        rest = tail;
    }
}

fn quoted_end(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some(at + 1);
        }
        if c == '\\' && quote == '"' {
            chars.next();
        }
    }
    None
}

fn word_end(text: &str) -> Result<usize, &'static str> {
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let tail = &text[at..];
        if c.is_whitespace()
            || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ',')
            || tail.starts_with("//")
        {
            end = at;
            break;
        }
        if tail.starts_with("/*") {
            return Err("comments are written //");
        }
        if c.is_control() {
            return Err("a character that cannot be printed");
        }
    }
    if end == 0 {
        Err("a character that cannot be printed")
    } else {
        Ok(end)
    }
}

fn comment_text(above: &[&str], suffix: Option<&str>) -> String {
    let lines = above
        .iter()
        .copied()
        .chain(suffix)
        .filter_map(|comment| comment.strip_prefix("//"));
    // Databases hold no NUL, and a comment may contain anything.
    lines
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("\n")
        .replace('\0', "\u{fffd}")
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
