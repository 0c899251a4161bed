//! Which names of a program stand for constants, and what for.
//!
//! A name counts as constant if the file gives it one value and nothing else touches it. Two
//! values, a loop, a parameter, an import or a later change make it unclear, and what is unclear
//! has no value.

use std::cell::Cell;
use std::ops::Range;

use super::bindings::{Binding, Bindings};
use super::{Dialect, Kind, Tree};

/// How many names may be followed from one to the next.
const MAX_DEPTH: usize = 8;
/// Tokens that may be visited for all values of one file; keeps hostile chains linear.
const BUDGET: u32 = 1 << 18;

/// The constants of one file.
#[derive(Debug)]
pub(in crate::manifest) struct Constants<'t, 'a> {
    tree: &'t Tree<'a>,
    bindings: Bindings<'t, 'a>,
    budget: Cell<u32>,
}

impl<'t, 'a> Constants<'t, 'a> {
    pub(in crate::manifest) fn collect(tree: &'t Tree<'a>) -> Self {
        Self {
            tree,
            bindings: Bindings::collect(tree),
            budget: Cell::new(BUDGET),
        }
    }

    /// What an expression stands for, if it is a string that never changes.
    pub(in crate::manifest) fn text(&self, expression: Range<usize>) -> Option<String> {
        self.evaluate(expression, 0)
    }

    /// The value under `key` in a dictionary: a literal, a call of `dict`, or a name for one.
    pub(in crate::manifest) fn entry(
        &self,
        dictionary: Range<usize>,
        key: &str,
    ) -> Option<Range<usize>> {
        self.find_entry(dictionary, key, 0)
    }

    fn evaluate(&self, expression: Range<usize>, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        let tree = self.tree;
        let mut text = String::new();
        let mut at = tree.skip_breaks(expression.start);
        loop {
            if at >= expression.end {
                return None;
            }
            let (term, next) = self.term(at, expression.end, depth)?;
            text.push_str(&term);
            at = tree.skip_breaks(self.past_conversions(next));
            if at >= expression.end {
                return (text.len() <= 1024).then_some(text);
            }
            if !tree.is_sign(at, "+") {
                return None;
            }
            at = tree.skip_breaks(at + 1);
        }
    }

    /// One operand of a sum, and what follows it.
    fn term(&self, at: usize, end: usize, depth: usize) -> Option<(String, usize)> {
        self.charge(1)?;
        let tree = self.tree;
        let token = tree.token(at)?;
        match token.kind {
            Kind::Text => {
                // Adjacent literals are one string.
                let mut text = String::new();
                let mut next = at;
                while next < end && tree.kind(next) == Some(Kind::Text) {
                    self.charge(1)?;
                    text.push_str(tree.literal(next)?);
                    next += 1;
                }
                Some((text, next))
            }
            Kind::Atom => Some((token.text.to_owned(), at + 1)),
            Kind::Open if token.text == "(" => {
                Some((self.evaluate(tree.inside(at), depth + 1)?, tree.after(at)))
            }
            Kind::Sign if token.text == "@" && tree.dialect == Dialect::Elixir => {
                let name = tree.word(at + 1)?;
                Some((self.named(name, at, depth)?, at + 2))
            }
            Kind::Word if tree.is_open(at + 1, "[") => {
                let key = tree.inside(at + 1);
                if key.len() != 1 {
                    return None;
                }
                let value = self.find_entry(at..at + 1, tree.literal(key.start)?, depth)?;
                Some((self.evaluate(value, depth + 1)?, tree.after(at + 1)))
            }
            Kind::Word if tree.is_open(at + 1, "(") => None,
            Kind::Word => Some((self.named(token.text, at, depth)?, at + 1)),
            _ => None,
        }
    }

    /// Calls that give back the same string.
    fn past_conversions(&self, mut at: usize) -> usize {
        while self.tree.is_sign(at, ".")
            && matches!(
                self.tree.word(at + 1),
                Some("freeze" | "dup" | "to_s" | "to_str")
            )
        {
            at += 2;
        }
        at
    }

    fn named(&self, name: &str, used: usize, depth: usize) -> Option<String> {
        let value = self.value_of(name, used)?;
        self.evaluate(value, depth + 1)
    }

    fn value_of(&self, name: &str, used: usize) -> Option<Range<usize>> {
        match self.bindings.get(name, used)? {
            Binding::Once(value) if self.reaches(value.start, used)? => Some(value.clone()),
            _ => None,
        }
    }

    /// Whether a binding's block is still open where the name is used. In Python indentation tells;
    /// elsewhere one binding in the whole file has to do.
    fn reaches(&self, bound: usize, used: usize) -> Option<bool> {
        if self.tree.dialect != Dialect::Python {
            return Some(true);
        }
        let mut start = bound;
        while start > 0 && !self.tree.begins(start) {
            self.charge(1)?;
            start -= 1;
            if self.tree.kind(start) == Some(Kind::Close) {
                start = self.tree.mate(start)?;
            }
        }
        let column = self.tree.token(start)?.column;
        if column == 0 {
            return Some(true);
        }
        if used < bound {
            return Some(false);
        }
        self.charge((used - bound) as u32)?;
        Some((bound..used).all(|at| {
            self.tree
                .token(at)
                .is_none_or(|token| !token.leads || token.column >= column)
        }))
    }

    fn find_entry(
        &self,
        dictionary: Range<usize>,
        key: &str,
        depth: usize,
    ) -> Option<Range<usize>> {
        let tree = self.tree;
        let start = tree.skip_breaks(dictionary.start);
        if depth > MAX_DEPTH || start >= dictionary.end {
            return None;
        }
        if tree.is_open(start, "{") {
            self.charge(tree.inside(start).len() as u32)?;
            return tree.keyed(tree.inside(start), key);
        }
        let name = tree.word(start)?;
        if name == "dict" && tree.is_open(start + 1, "(") {
            self.charge(tree.inside(start + 1).len() as u32)?;
            return tree.keyed(tree.inside(start + 1), key);
        }
        if start + 1 != dictionary.end {
            return None;
        }
        if let Some(updated) = self.updated(name, key, start)? {
            return (!self.bindings.entries.contains_key(&(name, key))).then_some(updated);
        }
        let initial = self
            .value_of(name, start)
            .and_then(|value| self.find_entry(value, key, depth + 1));
        // A name that is unclear stays so even if one entry is known.
        if matches!(self.bindings.get(name, start), Some(Binding::Unclear)) {
            return None;
        }
        match self.bindings.entries.get(&(name, key)) {
            None => initial,
            Some(Binding::Once(value))
                if initial.is_none() && self.reaches(value.start, start)? =>
            {
                Some(value.clone())
            }
            Some(_) => None,
        }
    }

    /// The value that a call of `update` gives to a key, if one does; nothing at all where that
    /// cannot be told.
    #[expect(
        clippy::option_option,
        reason = "the outer one is the question mark of the callers"
    )]
    fn updated(&self, name: &str, key: &str, used: usize) -> Option<Option<Range<usize>>> {
        let mut found = None;
        for arguments in self
            .bindings
            .updates
            .get(name)
            .map_or(&[][..], Vec::as_slice)
        {
            self.charge(arguments.len() as u32)?;
            if self.leaves_alone(arguments.clone(), key) {
                continue;
            }
            let value = self
                .tree
                .keyed(self.literal_entries(arguments.clone()), key)?;
            if found.is_some() || !self.reaches(arguments.start.checked_sub(1)?, used)? {
                return None;
            }
            found = Some(value);
        }
        Some(found)
    }

    /// The entries of a dictionary literal, or the arguments themselves.
    fn literal_entries(&self, arguments: Range<usize>) -> Range<usize> {
        if self.tree.is_open(arguments.start, "{") {
            self.tree.inside(arguments.start)
        } else {
            arguments
        }
    }

    /// Whether the arguments of `update` are plain and do not set `key`.
    fn leaves_alone(&self, arguments: Range<usize>, key: &str) -> bool {
        let tree = self.tree;
        let inner = self.literal_entries(arguments);
        tree.items(inner).all(|item| {
            let Some(first) = tree.token(item.start) else {
                return false;
            };
            let name = match first.kind {
                Kind::Word => Some(first.text),
                Kind::Text => tree.literal(item.start),
                _ => None,
            };
            let keyed = tree.is_sign(item.start + 1, "=") || tree.is_sign(item.start + 1, ":");
            keyed && name.is_some_and(|name| name != key)
        })
    }

    fn charge(&self, tokens: u32) -> Option<()> {
        let left = self.budget.get().checked_sub(tokens)?;
        self.budget.set(left);
        Some(())
    }
}
