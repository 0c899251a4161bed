//! Conditions that pick units by kind, state, error and key: the same for
//! lists and for steering in bulk.

use db::Statement;

use crate::State;

/// Conditions with their arguments, numbered behind those a statement has.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// Starts with ` AND ` if there is any.
    pub text: String,
    arguments: Vec<String>,
    before: usize,
}

impl Conditions {
    /// For a statement that has `before` arguments of its own.
    pub(crate) fn behind(before: usize) -> Self {
        Self {
            text: String::new(),
            arguments: Vec::new(),
            before,
        }
    }

    /// Of this kind; a round means all its kinds.
    pub(crate) fn kind(&mut self, kind: Option<&String>) {
        let Some(kind) = kind else { return };
        let condition = if kind.contains('/') {
            "unit.kind = $n"
        } else {
            "(unit.kind = $n OR unit.kind LIKE $n || '/%')"
        };
        self.push(condition, kind.clone());
    }

    /// In this state.
    pub(crate) fn state(&mut self, state: Option<State>) {
        if let Some(state) = state {
            self.push("unit.state = $n", state.as_str().to_owned());
        }
    }

    /// Whose last error contains this.
    pub(crate) fn error(&mut self, error: Option<&String>) {
        if let Some(error) = error {
            self.push(
                "EXISTS (SELECT 1 FROM unit_body WHERE unit_body.unit = unit.id
                    AND unit_body.error LIKE $n ESCAPE '\\')",
                format!("%{}%", escape_like(error)),
            );
        }
    }

    /// Whose key fits this pattern: `*` is any text, `?` any one character.
    pub(crate) fn key(&mut self, pattern: Option<&String>) {
        if let Some(pattern) = pattern {
            self.push("unit.key LIKE $n ESCAPE '\\'", like(pattern));
        }
    }

    /// Gives the statement their arguments.
    pub(crate) fn bind(self, statement: Statement) -> Statement {
        self.arguments.into_iter().fold(statement, Statement::bind)
    }

    fn push(&mut self, condition: &str, argument: String) {
        self.arguments.push(argument);
        let place = format!("${}", self.before + self.arguments.len());
        self.text.push_str(" AND ");
        self.text.push_str(&condition.replace("$n", &place));
    }
}

/// `*` and `?` as people write them, as LIKE has them.
fn like(pattern: &str) -> String {
    escape_like(pattern).replace('*', "%").replace('?', "_")
}

fn escape_like(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_people_write() {
        assert_eq!(like("github.com/*"), "github.com/%");
        assert_eq!(like("100%_?"), "100\\%\\__");
    }
}
