//! A tolerant syntax tree for files that are programs.
//!
//! A manifest such as `setup.py` or `build.gradle` is code, but its facts are constants in
//! well-known places. What is needed to find them is exact knowledge of what is *not* code
//! (comments, strings in all their forms) and of what encloses what; a full grammar is not. So the
//! tree is a flat list of tokens in which every bracket knows its mate and every token its
//! enclosing bracket. Text that breaks the language's rules still gives a tree: a stray closing
//! bracket is a token without a mate, an open one reaches to the end.
//!
//! Building is one pass without recursion; time and memory are linear in the text.

mod bindings;
mod constants;
mod delimited;
mod dialect;
mod lexer;
mod literals;

use std::borrow::Cow;
use std::ops::Range;

pub(super) use constants::Constants;
pub(super) use dialect::Dialect;

use super::ManifestError;

/// More tokens than any manifest has; bounds the memory of a hostile file to some tens of MB.
const MAX_TOKENS: usize = 1 << 18;

/// Parts of one statement that are looked at, brackets counting as one.
const MAX_STATEMENT: usize = 256;

const NOWHERE: u32 = u32::MAX;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A symbol or keyword literal: `:name`; its text is without the colon.
    Atom,
    Number,
    /// A string of any form.
    Text,
    /// An operator or punctuation.
    Sign,
    Open,
    Close,
    /// The end of a statement, as far as line breaks end statements.
    Newline,
}

/// One token.
#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// What a [`Kind::Text`] stands for; nothing if it is computed at run time.
    pub(super) value: Option<Cow<'a, str>>,
    /// Bytes from the start of the line.
    pub(super) column: u32,
    /// Whether it is the first on its line.
    pub(super) leads: bool,
    /// The matching bracket; for one that is never closed, the end of the tree.
    mate: u32,
    /// The innermost bracket around it.
    within: u32,
}

/// The tokens of one file.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    tokens: Vec<Token<'a>>,
    dialect: Dialect,
}

impl<'a> Tree<'a> {
    pub(super) fn read(text: &'a str, dialect: Dialect) -> Result<Self, ManifestError> {
        let tokens = lexer::tokens(text, dialect)?;
        Ok(Self { tokens, dialect })
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn all(&self) -> Range<usize> {
        0..self.tokens.len()
    }

    pub(super) fn token(&self, at: usize) -> Option<&Token<'a>> {
        self.tokens.get(at)
    }

    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// The text of a word, or nothing for any other token.
    pub(super) fn word(&self, at: usize) -> Option<&'a str> {
        self.tokens
            .get(at)
            .filter(|token| token.kind == Kind::Word)
            .map(|token| token.text)
    }

    pub(super) fn is_word(&self, at: usize, word: &str) -> bool {
        self.word(at) == Some(word)
    }

    pub(super) fn is_sign(&self, at: usize, sign: &str) -> bool {
        self.is(at, Kind::Sign, sign)
    }

    pub(super) fn is_open(&self, at: usize, bracket: &str) -> bool {
        self.is(at, Kind::Open, bracket)
    }

    /// The value of a string literal that is a constant.
    pub(super) fn literal(&self, at: usize) -> Option<&str> {
        self.tokens.get(at)?.value.as_deref()
    }

    /// What stands between the bracket at `open` and its mate.
    pub(super) fn inside(&self, open: usize) -> Range<usize> {
        let mate = self
            .tokens
            .get(open)
            .map_or(self.len(), |token| token.mate as usize);
        let end = mate.min(self.len());
        (open + 1).min(end)..end
    }

    /// The next token of the same level: past the mate of an opening bracket.
    pub(super) fn after(&self, at: usize) -> usize {
        match self.tokens.get(at) {
            Some(token) if token.kind == Kind::Open => {
                (token.mate as usize).saturating_add(1).min(self.len())
            }
            _ => at + 1,
        }
    }

    /// The bracket around a token.
    pub(super) fn within(&self, at: usize) -> Option<usize> {
        let within = self.tokens.get(at)?.within;
        (within != NOWHERE).then_some(within as usize)
    }

    /// The other bracket of a pair.
    pub(super) fn mate(&self, at: usize) -> Option<usize> {
        let mate = self.tokens.get(at)?.mate;
        (mate != NOWHERE).then_some(mate as usize)
    }

    /// Past line breaks.
    pub(super) fn skip_breaks(&self, mut at: usize) -> usize {
        while self.kind(at) == Some(Kind::Newline) {
            at += 1;
        }
        at
    }

    /// Whether a statement can begin here: nothing of the same statement stands before.
    pub(super) fn begins(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return true;
        };
        match self.kind(before) {
            Some(Kind::Newline | Kind::Open) => true,
            Some(Kind::Sign) => self.is_sign(before, ";"),
            _ => false,
        }
    }

    /// From `start` to the end of its statement, at most to the end of `limits`. Nobody writes a
    /// constant of more than [`MAX_STATEMENT`] parts; what is longer counts as empty.
    pub(super) fn statement(&self, start: usize, limits: &Range<usize>) -> Range<usize> {
        let mut at = start;
        for _ in 0..MAX_STATEMENT {
            let ends = match self.kind(at) {
                None | Some(Kind::Newline | Kind::Close) => true,
                Some(Kind::Sign) => self.is_sign(at, ";"),
                _ => false,
            };
            if ends || at >= limits.end {
                return start..at.min(limits.end).max(start);
            }
            at = self.after(at);
        }
        start..start
    }

    /// The parts of a list, separated by commas (and, in dialects that allow it, by line breaks).
    pub(super) fn items(&self, list: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut at = list.start;
        std::iter::from_fn(move || {
            while at < list.end && (self.is_sign(at, ",") || self.kind(at) == Some(Kind::Newline)) {
                at += 1;
            }
            if at >= list.end {
                return None;
            }
            let start = at;
            while at < list.end && !self.is_sign(at, ",") && self.kind(at) != Some(Kind::Newline) {
                at = self.after(at);
            }
            at = at.min(list.end);
            Some(start..at)
        })
    }

    /// The value given to a name in a list: `name = value`, `name: value`, `"name": value`,
    /// `:name => value`.
    pub(super) fn keyed(&self, list: Range<usize>, name: &str) -> Option<Range<usize>> {
        let mut found = None;
        for item in self.items(list) {
            if let Some(value) = self.value_of(&item, name) {
                if found.is_some() {
                    return None;
                }
                found = Some(value);
            }
        }
        found
    }

    /// The value of the only `name = value` outside of any bracket.
    pub(super) fn assignment(&self, name: &str) -> Option<Range<usize>> {
        let mut found = self.all().filter(|at| {
            self.is_word(*at, name)
                && self.begins(*at)
                && self.within(*at).is_none()
                && self.is_sign(at + 1, "=")
        });
        let at = found.next().filter(|_| found.next().is_none())?;
        Some(self.statement(at + 2, &self.all()))
    }

    fn value_of(&self, item: &Range<usize>, name: &str) -> Option<Range<usize>> {
        let key = self.tokens.get(item.start)?;
        let same = match key.kind {
            Kind::Word | Kind::Atom => key.text == name,
            Kind::Text => key.value.as_deref() == Some(name),
            _ => false,
        };
        let joined = ["=", ":", "=>"]
            .iter()
            .any(|sign| self.is_sign(item.start + 1, sign));
        (same && joined && item.start + 2 < item.end).then_some(item.start + 2..item.end)
    }

    fn is(&self, at: usize, kind: Kind, text: &str) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.kind == kind && token.text == text)
    }
}
