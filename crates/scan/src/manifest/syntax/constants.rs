//! Which names of a program stand for constants, and what for.
//!
//! A name counts as constant if the file gives it one value and nothing else touches it. Two
//! values, a loop, a parameter, an import or a later change make it unclear, and what is unclear
//! has no value.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use super::{Dialect, Kind, Tree};

/// How many names may be followed from one to the next.
const MAX_DEPTH: usize = 8;
/// Tokens that may be visited for all values of one file; keeps hostile chains linear.
const BUDGET: u32 = 1 << 18;

/// Words that stand before a name when it is given its value.
const DECLARERS: &[&str] = &[
    "val", "var", "let", "const", "def", "final", "local", "static", "lazy", "String", "export",
];

/// The constants of one file.
#[derive(Debug)]
pub(in crate::manifest) struct Constants<'t, 'a> {
    tree: &'t Tree<'a>,
    names: HashMap<(Scope, &'a str), Binding>,
    /// Where each stretch of one scope starts, in order.
    scopes: Vec<(usize, Scope)>,
    /// `name["key"] = value`
    entries: HashMap<(&'a str, &'t str), Binding>,
    /// `name.update(…)`: the brackets' contents.
    updates: HashMap<&'a str, Vec<Range<usize>>>,
    budget: Cell<u32>,
}

/// Whether a name belongs to the file or to a function or class in it. Only Python's are told
/// apart, by indentation; all functions share one scope, which errs towards unclear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    File,
    Inner,
}

#[derive(Debug)]
enum Binding {
    /// Where its one value stands.
    Once(Range<usize>),
    Unclear,
}

impl<'t, 'a> Constants<'t, 'a> {
    pub(in crate::manifest) fn collect(tree: &'t Tree<'a>) -> Self {
        let mut constants = Self {
            tree,
            names: HashMap::new(),
            scopes: vec![(0, Scope::File)],
            entries: HashMap::new(),
            updates: HashMap::new(),
            budget: Cell::new(BUDGET),
        };
        let mut definition = None;
        for at in tree.all() {
            constants.note_scope(at, &mut definition);
            constants.visit(at);
        }
        constants
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

    /// Follows indentation into and out of definitions; `definition` is the column of the outermost.
    fn note_scope(&mut self, at: usize, definition: &mut Option<u32>) {
        let tree = self.tree;
        if tree.dialect != Dialect::Python || tree.within(at).is_some() {
            return;
        }
        let Some(token) = tree.token(at).filter(|token| token.leads) else {
            return;
        };
        if definition.is_some_and(|column| token.column <= column) {
            *definition = None;
            self.scopes.push((at, Scope::File));
        }
        if definition.is_none() && matches!(token.text, "def" | "class" | "async") {
            *definition = Some(token.column);
            self.scopes.push((at, Scope::Inner));
        }
    }

    fn scope_at(&self, at: usize) -> Scope {
        let after = self.scopes.partition_point(|(start, _)| *start <= at);
        after
            .checked_sub(1)
            .map_or(Scope::File, |index| self.scopes[index].1)
    }

    /// The scope that is being visited.
    fn scope(&self) -> Scope {
        self.scopes.last().map_or(Scope::File, |(_, scope)| *scope)
    }

    fn visit(&mut self, at: usize) {
        let tree = self.tree;
        let Some(word) = tree.word(at) else {
            if tree.is_sign(at, "|") && tree.dialect == Dialect::Ruby {
                self.spoil_block_parameters(at);
            }
            return;
        };
        if tree.dialect == Dialect::Elixir {
            self.visit_attribute(at, word);
            return;
        }
        if !self.may_bind_here(at) {
            return;
        }
        if tree.begins(at) {
            match word {
                "from" | "import" if tree.dialect == Dialect::Python => {
                    let statement = tree.statement(at, &tree.all());
                    self.spoil_words(statement.start + 1..statement.end);
                    return;
                }
                "for" => self.spoil_until(at + 1, "in"),
                "del" if tree.is_open(at + 2, "[") => self.note_removal(at + 1),
                "global" | "nonlocal" | "del" => {
                    if let Some(name) = tree.word(at + 1) {
                        self.names.insert((Scope::File, name), Binding::Unclear);
                        self.names.insert((Scope::Inner, name), Binding::Unclear);
                    }
                }
                _ => {}
            }
        }
        match word {
            "as" if tree.dialect == Dialect::Python => self.spoil_words(at + 1..at + 2),
            "def" | "class" if tree.dialect == Dialect::Python => self.spoil_parameters(at),
            _ => {}
        }
        if self.declares(at) {
            self.visit_target(at, word);
        }
    }

    /// Names are bound in the open or inside braces, where these hold statements.
    fn may_bind_here(&self, at: usize) -> bool {
        match self.tree.within(at) {
            None => true,
            Some(open) => self.tree.dialect.breaks_in_braces() && self.tree.is_open(open, "{"),
        }
    }

    fn declares(&self, at: usize) -> bool {
        self.tree.begins(at)
            || at
                .checked_sub(1)
                .and_then(|before| self.tree.word(before))
                .is_some_and(|before| DECLARERS.contains(&before))
    }

    /// A word at which a statement may begin that changes it.
    fn visit_target(&mut self, at: usize, word: &'a str) {
        let tree = self.tree;
        let all = tree.all();
        if tree.is_sign(at + 1, "=") {
            self.bind(word, tree.statement(tree.skip_breaks(at + 2), &all));
        } else if tree.is_sign(at + 1, ":") && tree.is_sign(at + 3, "=") {
            // With a type: `val name: String = "x"`.
            self.bind(word, tree.statement(tree.skip_breaks(at + 4), &all));
        } else if tree.is_sign(at + 1, ",") {
            self.spoil_until(at, "=");
        } else if tree.is_open(at + 1, "[") && tree.is_sign(tree.after(at + 1), "=") {
            let key = tree.inside(at + 1);
            let value = tree.statement(tree.after(at + 1) + 1, &all);
            match tree.literal(key.start) {
                Some(text) if key.len() == 1 => match self.entries.entry((word, text)) {
                    std::collections::hash_map::Entry::Vacant(free) => {
                        free.insert(Binding::Once(value));
                    }
                    std::collections::hash_map::Entry::Occupied(mut taken) => {
                        taken.insert(Binding::Unclear);
                    }
                },
                _ => self.spoil(word),
            }
        } else if tree.is_sign(at + 1, ".") && tree.is_word(at + 2, "update") {
            let arguments = tree.inside(at + 3);
            self.updates.entry(word).or_default().push(arguments);
        } else if let Some(token) = tree.token(at + 1)
            && token.kind == Kind::Sign
            && (token.text == "<<" || token.text.len() > 1 && token.text.ends_with('='))
            && !matches!(token.text, "==" | "!=" | "<=" | ">=" | "===")
        {
            self.spoil(word);
        }
    }

    /// `del name["key"]`
    fn note_removal(&mut self, at: usize) {
        let key = self.tree.inside(at + 1);
        match (self.tree.word(at), self.tree.literal(key.start)) {
            (Some(word), Some(text)) if key.len() == 1 => {
                self.entries.insert((word, text), Binding::Unclear);
            }
            (Some(word), _) => self.spoil(word),
            _ => {}
        }
    }

    /// `@name value`: a module attribute.
    fn visit_attribute(&mut self, at: usize, word: &'a str) {
        let tree = self.tree;
        if at > 0 && tree.is_sign(at - 1, "@") && tree.begins(at - 1) && tree.within(at).is_none() {
            self.bind(word, tree.statement(at + 1, &tree.all()));
        }
    }

    fn bind(&mut self, word: &'a str, value: Range<usize>) {
        self.names
            .entry((self.scope(), word))
            .and_modify(|binding| *binding = Binding::Unclear)
            .or_insert(Binding::Once(value));
    }

    fn spoil(&mut self, word: &'a str) {
        self.names.insert((self.scope(), word), Binding::Unclear);
    }

    fn spoil_words(&mut self, range: Range<usize>) {
        for at in range {
            if let Some(word) = self.tree.word(at) {
                self.spoil(word);
            }
        }
    }

    /// The words of a list of targets: a handful, else nobody wrote it.
    fn spoil_until(&mut self, start: usize, end: &str) {
        for at in start..start + 16 {
            match self.tree.token(at) {
                Some(token) if token.kind == Kind::Word && token.text != end => {
                    self.spoil(token.text);
                }
                Some(token) if token.kind == Kind::Newline || token.text == end => break,
                Some(_) => {}
                None => break,
            }
        }
    }

    fn spoil_parameters(&mut self, def: usize) {
        let tree = self.tree;
        if let Some(name) = tree.word(def + 1) {
            self.spoil(name);
        }
        if tree.is_word(def, "def") && tree.is_open(def + 2, "(") {
            for parameter in tree.items(tree.inside(def + 2)) {
                let starred = usize::from(tree.kind(parameter.start) == Some(Kind::Sign));
                self.spoil_words(parameter.start + starred..parameter.start + starred + 1);
            }
        }
    }

    /// `do |a, b|`
    fn spoil_block_parameters(&mut self, bar: usize) {
        for at in bar + 1..bar + 16 {
            match self.tree.token(at) {
                Some(token) if token.kind == Kind::Word => self.spoil(token.text),
                Some(token) if token.text == "," => {}
                _ => break,
            }
        }
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
        match self.binding(name, used)? {
            Binding::Once(value) if self.reaches(value.start, used)? => Some(value.clone()),
            _ => None,
        }
    }

    /// What a name is bound to where it is used: by the definition around, else by the file.
    fn binding<'s>(&'s self, name: &'s str, used: usize) -> Option<&'s Binding> {
        let inner = match self.scope_at(used) {
            Scope::Inner => self.names.get(&(Scope::Inner, name)),
            Scope::File => None,
        };
        inner.or_else(|| self.names.get(&(Scope::File, name)))
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
            return (!self.entries.contains_key(&(name, key))).then_some(updated);
        }
        let initial = self
            .value_of(name, start)
            .and_then(|value| self.find_entry(value, key, depth + 1));
        // A name that is unclear stays so even if one entry is known.
        if matches!(self.binding(name, start), Some(Binding::Unclear)) {
            return None;
        }
        match self.entries.get(&(name, key)) {
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
        for arguments in self.updates.get(name).map_or(&[][..], Vec::as_slice) {
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
