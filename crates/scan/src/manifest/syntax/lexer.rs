//! One pass from text to tokens.

use std::borrow::Cow;

use super::delimited::{self, Literal};
use super::literals;
use super::{Dialect, Kind, MAX_TOKENS, NOWHERE, Token};
use crate::manifest::ManifestError;

/// Signs of more than one byte, longest first.
const LONG_SIGNS: &[&str] = &[
    "===", "**=", "||=", "++=", "<=>", "...", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "=>",
    "->", "::", ":=", "||", "&&", "**", "<<", ">>", "|>", "++", "%%", "..", "~>", "??", "?.", "=~",
    "?:",
];

pub(super) fn tokens(text: &str, dialect: Dialect) -> Result<Vec<Token<'_>>, ManifestError> {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        dialect,
        at: 0,
        line_start: 0,
        line_is_empty: true,
        spaced: true,
        no_slash_before: 0,
        heredocs: Vec::new(),
        tokens: Vec::with_capacity(text.len() / 6),
        open: Vec::new(),
    };
    lexer.run()?;
    let Lexer {
        mut tokens, open, ..
    } = lexer;
    for at in open {
        tokens[at].mate = NOWHERE;
    }
    Ok(tokens)
}

pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) dialect: Dialect,
    pub(super) at: usize,
    line_start: usize,
    line_is_empty: bool,
    /// Whether white space stands right before the next token.
    spaced: bool,
    /// No `/…/` literal ends before this offset; keeps failed searches from repeating.
    pub(super) no_slash_before: usize,
    /// Terminators of the here-documents that start after the current line.
    pub(super) heredocs: Vec<&'a str>,
    tokens: Vec<Token<'a>>,
    open: Vec<usize>,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), ManifestError> {
        if self.bytes.starts_with(b"#!") && self.dialect != Dialect::Clojure {
            self.skip_line();
        }
        while self.at < self.bytes.len() {
            if self.tokens.len() >= MAX_TOKENS {
                return Err(ManifestError::Malformed {
                    format: "source",
                    detail: format!("more than {MAX_TOKENS} tokens"),
                });
            }
            if !self.step() {
                break;
            }
        }
        Ok(())
    }

    /// Reads one token or one stretch of nothing; false where the program ends before the text.
    fn step(&mut self) -> bool {
        let byte = self.bytes[self.at];
        match byte {
            b'\n' => {
                self.line_break();
                return !self.program_ends();
            }
            b' ' | b'\t' | b'\r' | 0x0C => {
                self.at += 1;
                self.spaced = true;
                return true;
            }
            b'\\' if self.joins_lines() => {
                self.spaced = true;
                return true;
            }
            _ => {}
        }
        if self.comment() {
            self.spaced = true;
            return true;
        }
        let start = self.at;
        if let Some(Literal { end, value }) = literals::literal(self) {
            // A literal that does not move on would never end.
            let end = delimited::ceil_boundary(self.text, end.max(start + 1));
            self.push(Kind::Text, start, end, value);
            self.note_line_starts(start, end);
        } else if matches!(byte, b'(' | b'[' | b'{') {
            self.open_bracket(start);
        } else if matches!(byte, b')' | b']' | b'}') {
            self.close_bracket(start);
        } else if let Some(end) = self.atom_end() {
            self.push(Kind::Atom, start, end, None);
            if let Some(token) = self.tokens.last_mut() {
                token.text = &self.text[start + 1..end];
            }
        } else if let Some(end) = self.word_end(start) {
            self.push(Kind::Word, start, end, None);
        } else if byte.is_ascii_digit() {
            let end = self.number_end(start);
            self.push(Kind::Number, start, end, None);
        } else {
            let end = start + self.sign_length(start);
            self.push(Kind::Sign, start, end, None);
        }
        true
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize, value: Option<Cow<'a, str>>) {
        let text = &self.text[start..end];
        if self.line_is_empty && kind == Kind::Sign && text == "." && self.dialect.dot_continues() {
            while self
                .tokens
                .last()
                .is_some_and(|token| token.kind == Kind::Newline)
            {
                self.tokens.pop();
            }
        }
        self.tokens.push(Token {
            kind,
            text,
            value,
            column: (start - self.line_start) as u32,
            leads: self.line_is_empty,
            mate: NOWHERE,
            within: self.open.last().map_or(NOWHERE, |at| *at as u32),
        });
        self.line_is_empty = false;
        self.spaced = false;
        self.at = end;
    }

    fn open_bracket(&mut self, start: usize) {
        self.push(Kind::Open, start, start + 1, None);
        self.open.push(self.tokens.len() - 1);
    }

    /// Only a bracket of the same kind closes the innermost one: a stray bracket then costs one
    /// token and not the rest of the file.
    fn close_bracket(&mut self, start: usize) {
        let opener = match self.bytes[start] {
            b')' => "(",
            b']' => "[",
            _ => "{",
        };
        let mate = self
            .open
            .last()
            .copied()
            .filter(|at| self.tokens[*at].text == opener);
        if let Some(mate) = mate {
            self.open.pop();
            let here = self.tokens.len();
            self.push(Kind::Close, start, start + 1, None);
            self.tokens[here].mate = mate as u32;
            self.tokens[mate].mate = here as u32;
        } else {
            self.push(Kind::Sign, start, start + 1, None);
        }
    }

    fn line_break(&mut self) {
        let start = self.at;
        if self.breaks_statement() {
            self.push(Kind::Newline, start, start + 1, None);
        }
        self.at = start + 1;
        for terminator in std::mem::take(&mut self.heredocs) {
            self.at = literals::heredoc_end(self.bytes, self.at, terminator);
        }
        self.line_start = self.at;
        self.line_is_empty = true;
        self.spaced = true;
    }

    fn breaks_statement(&self) -> bool {
        let enclosed = match self.open.last().map(|at| self.tokens[*at].text) {
            None => false,
            Some("{") => !self.dialect.breaks_in_braces(),
            Some(_) => true,
        };
        let goes_on = self.tokens.last().is_none_or(|token| match token.kind {
            Kind::Newline | Kind::Open => true,
            Kind::Sign => self.dialect.sign_continues(token.text),
            _ => false,
        });
        !enclosed && !goes_on
    }

    /// A backslash before the line break, where that joins lines.
    fn joins_lines(&mut self) -> bool {
        let rest = &self.bytes[self.at + 1..];
        let length = if rest.starts_with(b"\n") {
            2
        } else if rest.starts_with(b"\r\n") {
            3
        } else {
            return false;
        };
        self.at += length;
        true
    }

    /// After a string that spans lines, columns count from its last line.
    fn note_line_starts(&mut self, start: usize, end: usize) {
        if let Some(offset) = memchr::memrchr(b'\n', &self.bytes[start..end]) {
            self.line_start = start + offset + 1;
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn program_ends(&self) -> bool {
        self.dialect == Dialect::Ruby && self.bytes[self.at..].starts_with(b"__END__")
    }

    /// Skips a comment, if one starts here.
    fn comment(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        if self.dialect == Dialect::Ruby && self.line_is_empty && rest.starts_with(b"=begin") {
            let end = memchr::memmem::find(rest, b"\n=end").map_or(rest.len(), |at| at + 5);
            self.at += end;
            self.skip_line();
            return true;
        }
        if self.dialect == Dialect::Lua
            && rest.starts_with(b"--[")
            && let Some(end) = delimited::long_bracket_end(rest, 2)
        {
            self.at += end;
            return true;
        }
        if let Some((open, close)) = self.dialect.block_comment()
            && rest.starts_with(open)
        {
            self.at += block_comment_length(rest, open, close, self.dialect.nests_comments());
            return true;
        }
        if self
            .dialect
            .line_comments()
            .iter()
            .any(|mark| rest.starts_with(mark))
        {
            self.skip_line();
            return true;
        }
        false
    }

    fn atom_end(&self) -> Option<usize> {
        if !self.dialect.has_atoms()
            || self.bytes[self.at] != b':'
            || self.bytes.get(self.at + 1) == Some(&b':')
        {
            return None;
        }
        self.word_end(self.at + 1)
    }

    /// The end of the word that starts at `start`.
    pub(super) fn word_end(&self, start: usize) -> Option<usize> {
        let first = *self.bytes.get(start)?;
        if !(is_letter(first) || self.dialect.starts_word(first)) {
            return None;
        }
        // Ruby's `$'`, `$/` and the like are variables, not the start of a string.
        if self.dialect == Dialect::Ruby && first == b'$' {
            let second = self.bytes.get(start + 1).copied();
            if second.is_some_and(|byte| byte.is_ascii_punctuation() && byte != b'_') {
                return Some(start + 2);
            }
        }
        let rest = &self.bytes[start + 1..];
        let length = rest
            .iter()
            .position(|b| !(is_letter(*b) || b.is_ascii_digit() || self.dialect.in_word(*b)))
            .unwrap_or(rest.len());
        let mut end = start + 1 + length;
        if self.dialect.asks_and_shouts()
            && matches!(self.bytes.get(end), Some(b'?' | b'!'))
            && self.bytes.get(end + 1) != Some(&b'=')
        {
            end += 1;
        }
        Some(end)
    }

    fn number_end(&self, start: usize) -> usize {
        let mut end = start;
        while let Some(byte) = self.bytes.get(end) {
            let dot = *byte == b'.' && self.bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            if !(dot || is_letter(*byte) || byte.is_ascii_digit()) {
                break;
            }
            end += 1;
        }
        end
    }

    fn sign_length(&self, start: usize) -> usize {
        let rest = &self.bytes[start..];
        LONG_SIGNS
            .iter()
            .find(|sign| rest.starts_with(sign.as_bytes()))
            .map_or(1, |sign| sign.len())
    }

    /// Whether a value, rather than an operator, is to be expected here.
    pub(super) fn expects_value(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return true;
        };
        match last.kind {
            Kind::Newline | Kind::Open | Kind::Sign => true,
            Kind::Word => {
                // `split /,/` is a call, `a / b` a division: as the languages decide it, by space.
                self.spaced
                    && !matches!(
                        self.bytes.get(self.at + 1),
                        None | Some(b' ' | b'\n' | b'=')
                    )
            }
            _ => false,
        }
    }
}

/// Letters, `_`, and every byte of a character beyond ASCII.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn block_comment_length(rest: &[u8], open: &[u8], close: &[u8], nests: bool) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(open) && (nests || depth == 0) {
            depth += 1;
            at += open.len();
        } else if rest[at..].starts_with(close) {
            depth -= 1;
            at += close.len();
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}
