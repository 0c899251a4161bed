//! The little of Jinja that names in recipes use: constants, filters and joining.
//!
//! Templates are not run. Tags are taken out, expressions are set aside, and an expression is
//! evaluated only if it is built from constants the recipe itself sets. A real engine would need
//! the build tool's functions and could be made to work without end.

use std::collections::HashMap;

/// Longest expression and longest value that are looked at.
const MAX_LENGTH: usize = 512;
/// Mark the place of an expression in the text; both are private-use characters.
const OPEN: char = '\u{E000}';
const CLOSE: char = '\u{E001}';

/// A template with its tags taken out.
#[derive(Debug, Default)]
pub(super) struct Template<'a> {
    /// The text, with marks where expressions stood.
    pub(super) text: String,
    expressions: Vec<&'a str>,
    pub(super) variables: Variables,
}

/// What a recipe's variables stand for; nothing for those that are unclear.
#[derive(Debug, Default)]
pub(super) struct Variables(HashMap<String, Option<String>>);

impl<'a> Template<'a> {
    pub(super) fn read(source: &'a str) -> Self {
        let mut template = Self {
            text: String::with_capacity(source.len()),
            ..Self::default()
        };
        let mut nesting = 0_usize;
        let mut rest = source;
        while let Some(at) = rest.find('{') {
            let (before, tagged) = rest.split_at(at);
            template.text.push_str(before);
            let close = match tagged.as_bytes().get(1) {
                Some(b'{') => "}}",
                Some(b'%') => "%}",
                Some(b'#') => "#}",
                _ => {
                    template.text.push('{');
                    rest = &tagged[1..];
                    continue;
                }
            };
            let Some(length) = tagged[2..].find(close) else {
                // Unclosed: the rest is what it is.
                template.text.push_str(tagged);
                rest = "";
                break;
            };
            let inside = tagged[2..2 + length].trim_matches('-').trim();
            rest = &tagged[length + 4..];
            match close {
                "}}" => {
                    template.text.push(OPEN);
                    template
                        .text
                        .push_str(&template.expressions.len().to_string());
                    template.text.push(CLOSE);
                    template.expressions.push(inside);
                }
                "%}" => template.tag(inside, &mut nesting),
                _ => {}
            }
        }
        template.text.push_str(rest);
        template
    }

    /// A scalar of the document with its expressions evaluated.
    pub(super) fn render(&self, scalar: &str) -> Option<String> {
        let mut text = String::new();
        let mut rest = scalar;
        while let Some((before, marked)) = rest.split_once(OPEN) {
            let (index, after) = marked.split_once(CLOSE)?;
            let expression = self.expressions.get(index.parse::<usize>().ok()?)?;
            text.push_str(before);
            text.push_str(&self.variables.evaluate(expression)?);
            rest = after;
            if text.len() > MAX_LENGTH {
                return None;
            }
        }
        text.push_str(rest);
        Some(text)
    }

    fn tag(&mut self, tag: &str, nesting: &mut usize) {
        let word = tag.split_whitespace().next().unwrap_or_default();
        match word {
            "if" | "macro" | "call" | "filter" => *nesting += 1,
            "for" => {
                *nesting += 1;
                let targets = tag[word.len()..].split(" in ").next().unwrap_or_default();
                for target in targets.split(',').take(8) {
                    self.variables.0.insert(target.trim().to_owned(), None);
                }
            }
            word if word.starts_with("end") => *nesting = nesting.saturating_sub(1),
            "set" => {
                if let Some((name, value)) = tag[word.len()..].split_once('=') {
                    let value = if *nesting == 0 {
                        self.variables.evaluate(value)
                    } else {
                        None
                    };
                    self.variables.set(name.trim(), value);
                }
            }
            _ => {}
        }
    }
}

impl Variables {
    /// Gives a variable its value; a second, different one makes it unclear.
    pub(super) fn set(&mut self, name: &str, value: Option<String>) {
        self.0
            .entry(name.to_owned())
            .and_modify(|known| {
                if *known != value {
                    *known = None;
                }
            })
            .or_insert(value);
    }

    /// An expression of constants, known variables, `~`, `+` and simple filters.
    pub(super) fn evaluate(&self, expression: &str) -> Option<String> {
        if expression.len() > MAX_LENGTH {
            return None;
        }
        let mut cursor = Cursor {
            rest: expression.trim(),
        };
        let mut text = String::new();
        loop {
            text.push_str(&self.operand(&mut cursor)?);
            if text.len() > MAX_LENGTH {
                return None;
            }
            if cursor.rest.is_empty() {
                return Some(text);
            }
            if !(cursor.eat("~") || cursor.eat("+")) {
                return None;
            }
        }
    }

    /// One constant or variable with its filters.
    fn operand(&self, cursor: &mut Cursor<'_>) -> Option<String> {
        let mut value = if let Some(text) = cursor.string() {
            text.to_owned()
        } else if let Some(number) = cursor.number() {
            number.to_owned()
        } else {
            self.0.get(cursor.word()?)?.clone()?
        };
        loop {
            if cursor.eat("|") || cursor.eat(".") {
                value = apply(&value, cursor)?;
            } else {
                return Some(value);
            }
            if value.len() > MAX_LENGTH {
                return None;
            }
        }
    }
}

/// A filter or the method of the same name.
fn apply(value: &str, cursor: &mut Cursor<'_>) -> Option<String> {
    let filter = cursor.word()?;
    let mut arguments = Vec::new();
    if cursor.eat("(") {
        while !cursor.eat(")") {
            arguments.push(cursor.string()?);
            cursor.eat(",");
        }
    }
    match (filter, arguments.as_slice()) {
        ("lower", []) => Some(value.to_lowercase()),
        ("upper", []) => Some(value.to_uppercase()),
        ("trim" | "strip", []) => Some(value.trim().to_owned()),
        ("string", []) => Some(value.to_owned()),
        ("replace", [from, to]) if !from.is_empty() && to.len() <= from.len() + 8 => {
            Some(value.replace(from, to))
        }
        _ => None,
    }
}

struct Cursor<'a> {
    /// What is left, without white space before it.
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn eat(&mut self, mark: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(mark) else {
            return false;
        };
        self.rest = rest.trim_start();
        true
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest.trim_start();
        taken
    }

    fn word(&mut self) -> Option<&'a str> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(self.rest.len());
        (end > 0).then(|| self.take(end))
    }

    fn number(&mut self) -> Option<&'a str> {
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(self.rest.len());
        (self.rest.starts_with(|c: char| c.is_ascii_digit())).then(|| self.take(end))
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = self
            .rest
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))?;
        let length = self.rest[1..].find(quote)?;
        let text = &self.rest[1..=length];
        self.take(length + 2);
        (!text.contains('\\')).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> Option<String> {
        let template = Template::read(source);
        let last = template.text.lines().last().unwrap_or_default().to_owned();
        template.render(&last)
    }

    #[test]
    fn constants_and_filters() {
        assert_eq!(
            render("{% set n = \"Foo\" %}\n{{ n|lower }}-x").as_deref(),
            Some("foo-x")
        );
        assert_eq!(
            render("{% set n = 'a_b' %}\n{{ n.replace('_', '-') }}").as_deref(),
            Some("a-b")
        );
        assert_eq!(
            render("{% set n = 'a' %}{% set m = n ~ 'b' %}\n{{ m }}").as_deref(),
            Some("ab")
        );
        assert_eq!(
            render("{%- set n = 'a' -%}\n{{- n -}}").as_deref(),
            Some("a")
        );
    }

    #[test]
    fn what_is_unclear_has_no_value() {
        for source in [
            "{{ n }}",
            "{{ load_setup_py_data().name }}",
            "{% set n = env.get('x') %}\n{{ n }}",
            "{% set n = 'a' %}{% set n = 'b' %}\n{{ n }}",
            "{% if win %}{% set n = 'a' %}{% endif %}\n{{ n }}",
            "{% for n in x %}{% endfor %}\n{{ n }}",
            "{% set n = 'a' %}\n{{ n[0] }}",
        ] {
            assert_eq!(render(source), None, "{source}");
        }
    }
}
