//! Specifications in Ruby: a block that assigns to attributes of its parameter.
//!
//! Gems and pods share the form: `Gem::Specification.new do |s| s.name = "x" … end`.

use std::ops::Range;

use super::syntax::{Constants, Dialect, Kind, Tree};
use super::{ManifestError, Source};

/// Assignments to one attribute that are looked at; more are no specification.
const MAX_ASSIGNMENTS: usize = 8;

/// A specification that was found in a file.
pub(super) struct RubySpec<'t, 'a> {
    tree: &'t Tree<'a>,
    constants: Constants<'t, 'a>,
    /// Every assignment to an attribute of the block's parameter.
    assignments: Vec<(&'a str, Range<usize>)>,
    /// A name given to `new` itself.
    first_argument: Option<Range<usize>>,
}

pub(super) fn tree<'a>(source: &'a Source<'_>) -> Result<Tree<'a>, ManifestError> {
    Tree::read(&source.text, Dialect::Ruby)
}

impl<'t, 'a> RubySpec<'t, 'a> {
    /// Finds `outer::Inner.new` with one of the given inner names.
    pub(super) fn find(tree: &'t Tree<'a>, outer: &str, inner: &[&str]) -> Option<Self> {
        let new = tree.all().find(|at| {
            tree.is_word(*at, outer)
                && tree.is_sign(at + 1, "::")
                && tree.word(at + 2).is_some_and(|word| inner.contains(&word))
                && (tree.is_sign(at + 3, ".") || tree.is_sign(at + 3, "::"))
                && tree.is_word(at + 4, "new")
        })?;
        let (first_argument, variable) = read_new(tree, new)?;
        let mut assignments = Vec::new();
        for at in new..tree.len() {
            if tree.is_word(at, variable)
                && tree.is_sign(at + 1, ".")
                && tree.is_sign(at + 3, "=")
                && tree.begins(at)
                && let Some(attribute) = tree.word(at + 2)
            {
                assignments.push((attribute, tree.statement(at + 4, &tree.all())));
            }
        }
        Some(Self {
            tree,
            constants: Constants::collect(tree),
            assignments,
            first_argument,
        })
    }

    /// What an attribute is set to; nothing where it is set to different things.
    pub(super) fn text(&self, attribute: &str) -> Option<String> {
        let values: Vec<_> = self.values(attribute).take(MAX_ASSIGNMENTS + 1).collect();
        if values.len() > MAX_ASSIGNMENTS {
            return None;
        }
        let mut found = None;
        for value in values {
            let text = self.constants.text(value.clone())?;
            if found.get_or_insert_with(|| text.clone()) != &text {
                return None;
            }
        }
        found
    }

    pub(super) fn name(&self) -> Option<String> {
        if self.values("name").next().is_some() {
            return self.text("name");
        }
        self.constants.text(self.first_argument.clone()?)
    }

    /// Whether the name is taken from the file's own name.
    pub(super) fn is_named_by_file(&self) -> bool {
        let mut values = self.values("name");
        let Some(value) = values.next() else {
            return false;
        };
        values.next().is_none()
            && self.tree.is_word(value.start, "File")
            && self.tree.is_word(value.start + 2, "basename")
            && self.tree.is_open(value.start + 3, "(")
            && self.tree.is_word(value.start + 4, "__FILE__")
            && self.tree.after(value.start + 3) == value.end
    }

    /// A member of a hash that is assigned to an attribute, or set by `s.attribute["key"] = …`.
    pub(super) fn member(&self, attribute: &str, key: &str) -> Option<String> {
        let assigned = self.values(attribute).find_map(|value| {
            let list = if self.tree.is_open(value.start, "{") {
                self.tree.inside(value.start)
            } else {
                value.clone()
            };
            self.constants.text(self.tree.keyed(list, key)?)
        });
        assigned.or_else(|| self.indexed(attribute, key))
    }

    fn indexed(&self, attribute: &str, key: &str) -> Option<String> {
        let tree = self.tree;
        let at = tree.all().find(|at| {
            tree.is_word(*at, attribute)
                && tree.is_open(at + 1, "[")
                && tree.literal(at + 2) == Some(key)
                && tree.is_sign(at + 4, "=")
        })?;
        self.constants.text(tree.statement(at + 5, &tree.all()))
    }

    fn values(&self, attribute: &str) -> impl Iterator<Item = &Range<usize>> {
        self.assignments
            .iter()
            .filter(move |(name, _)| *name == attribute)
            .map(|(_, value)| value)
    }
}

/// Reads what follows `new`: its first argument and the name by which the block, or the variable it
/// is assigned to, calls the specification.
fn read_new<'a>(tree: &Tree<'a>, start: usize) -> Option<(Option<Range<usize>>, &'a str)> {
    let mut at = start + 5;
    let argument;
    if tree.is_open(at, "(") {
        argument = tree.items(tree.inside(at)).next();
        at = tree.after(at);
    } else {
        // Without brackets: everything before the comma or the block.
        let end = (at..at + 16).find(|end| {
            tree.is_sign(*end, ",")
                || tree.is_word(*end, "do")
                || tree
                    .kind(*end)
                    .is_none_or(|kind| matches!(kind, Kind::Newline | Kind::Open))
        });
        argument = end.filter(|end| *end > at).map(|end| at..end);
    }
    // The block opens in the same statement.
    for bar in at..at + 32 {
        match tree.kind(bar) {
            None | Some(Kind::Newline) => break,
            Some(Kind::Sign) if tree.is_sign(bar, "|") => {
                return tree.word(bar + 1).map(|variable| (argument, variable));
            }
            _ => {}
        }
    }
    let variable = start.checked_sub(2).and_then(|at| tree.word(at));
    variable
        .filter(|_| tree.is_sign(start - 1, "="))
        .map(|variable| (argument, variable))
}
