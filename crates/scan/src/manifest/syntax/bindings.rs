//! Where a program gives values to names, and where it spoils them.
//!
//! Two values, a loop, a parameter, an import or a later change make a name unclear.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::{Dialect, Kind, Tree};

/// Words that stand before a name when it is given its value.
const DECLARERS: &[&str] = &[
    "val", "var", "let", "const", "def", "final", "local", "static", "lazy", "String", "export",
];

/// The bindings of one file.
#[derive(Debug)]
pub(super) struct Bindings<'t, 'a> {
    tree: &'t Tree<'a>,
    names: HashMap<(Scope, &'a str), Binding>,
    /// Where each stretch of one scope starts, in order.
    scopes: Vec<(usize, Scope)>,
    /// `name["key"] = value`
    pub(super) entries: HashMap<(&'a str, &'t str), Binding>,
    /// `name.update(…)`: the brackets' contents.
    pub(super) updates: HashMap<&'a str, Vec<Range<usize>>>,
}

/// Whether a name belongs to the file or to a function or class in it. Only Python's are told
/// apart, by indentation; all functions share one scope, which errs towards unclear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    File,
    Inner,
}

/// What is known of a name.
#[derive(Debug)]
pub(super) enum Binding {
    /// Where its one value stands.
    Once(Range<usize>),
    Unclear,
}

impl<'t, 'a> Bindings<'t, 'a> {
    pub(super) fn collect(tree: &'t Tree<'a>) -> Self {
        let mut bindings = Self {
            tree,
            names: HashMap::new(),
            scopes: vec![(0, Scope::File)],
            entries: HashMap::new(),
            updates: HashMap::new(),
        };
        let mut definition = None;
        for at in tree.all() {
            bindings.note_scope(at, &mut definition);
            bindings.visit(at);
        }
        bindings
    }

    /// What a name is bound to where it is used: by the definition around, else by the file.
    pub(super) fn get<'s>(&'s self, name: &'s str, used: usize) -> Option<&'s Binding> {
        let inner = match self.scope_at(used) {
            Scope::Inner => self.names.get(&(Scope::Inner, name)),
            Scope::File => None,
        };
        inner.or_else(|| self.names.get(&(Scope::File, name)))
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
                    Entry::Vacant(free) => {
                        free.insert(Binding::Once(value));
                    }
                    Entry::Occupied(mut taken) => {
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
}
