//! Many rows in one statement.
//!
//! A statement per row through sqlx reaches 9,000 rows/s on SQLite (a thread
//! hop each); one JSON array through `json_each` reaches 300,000. PostgreSQL
//! takes one array per column through `UNNEST`: 89,000 rows/s at 1,000 rows a
//! commit. So a bulk statement says `{rows}` where it wants a table called `r`,
//! and this file, the only one, knows what to put there.

use serde_json::Value;

use crate::{Arg, Dialect, Statement, Timestamp, statement::without_nul};

/// Rows, column by column. All columns must have the same length.
#[derive(Clone, Debug, Default)]
pub struct Bulk {
    columns: Vec<(&'static str, Values)>,
}

#[derive(Clone, Debug)]
enum Values {
    Ints(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Bools(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
    Times(Vec<Option<Timestamp>>),
}

macro_rules! columns {
    ($($(#[$doc:meta])* $method:ident, $type:ty, $variant:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method<T: Into<Option<$type>>>(
            mut self,
            name: &'static str,
            values: impl IntoIterator<Item = T>,
        ) -> Self {
            let values = values.into_iter().map(Into::into).collect();
            self.columns.push((name, Values::$variant(values)));
            self
        }
    )*};
}

impl Bulk {
    /// No columns yet.
    pub fn new() -> Self {
        Self::default()
    }

    columns! {
        /// A column of whole numbers.
        ints, i64, Ints;
        /// A column of real numbers.
        reals, f64, Reals;
        /// A column of flags.
        bools, bool, Bools;
        /// A column of bytes.
        bytes, Vec<u8>, Bytes;
        /// A column of moments.
        times, Timestamp, Times;
    }

    /// A column of text.
    pub fn texts<T: Into<Option<String>>>(
        mut self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values = values
            .into_iter()
            .map(|value| value.into().map(without_nul))
            .collect();
        self.columns.push((name, Values::Texts(values)));
        self
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        let len = self.columns.first().map_or(0, |(_, values)| values.len());
        debug_assert!(
            self.columns.iter().all(|(_, values)| values.len() == len),
            "all columns of a bulk have the same length"
        );
        len
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Ints(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::Bools(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Bytes(values) => values.len(),
            Self::Times(values) => values.len(),
        }
    }
}

/// Puts the rows into the statement. Their placeholders come after the
/// statement's own arguments.
pub(crate) fn join(dialect: Dialect, statement: Statement, rows: Bulk) -> Statement {
    let Statement { text, mut args } = statement;
    let text = text.as_str();
    debug_assert!(text.contains("{rows}"), "a bulk statement names its rows");
    let table = match dialect {
        Dialect::Postgres => postgres_rows(rows, &mut args),
        Dialect::Sqlite => sqlite_rows(&rows, &mut args),
    };
    let mut statement = Statement::built(text.replace("{rows}", &table));
    statement.args = args;
    statement
}

fn postgres_rows(rows: Bulk, args: &mut Vec<Arg>) -> String {
    let mut arrays = Vec::new();
    let mut names = Vec::new();
    for (name, values) in rows.columns {
        let (arg, kind) = match values {
            Values::Ints(values) => (Arg::Ints(values), "bigint"),
            Values::Reals(values) => (Arg::Reals(values), "double precision"),
            Values::Bools(values) => (Arg::Bools(values), "boolean"),
            Values::Texts(values) => (Arg::Texts(values), "text"),
            Values::Bytes(values) => (Arg::Byteses(values), "bytea"),
            Values::Times(values) => (Arg::Times(values), "timestamptz"),
        };
        args.push(arg);
        arrays.push(format!("${}::{kind}[]", args.len()));
        names.push(name);
    }
    format!("UNNEST({}) AS r({})", arrays.join(", "), names.join(", "))
}

fn sqlite_rows(rows: &Bulk, args: &mut Vec<Arg>) -> String {
    let table: Vec<Value> = (0..rows.len())
        .map(|index| {
            rows.columns
                .iter()
                .map(|(_, values)| cell(values, index))
                .collect()
        })
        .collect();
    args.push(Arg::Text(Some(Value::Array(table).to_string())));
    let columns: Vec<String> = rows
        .columns
        .iter()
        .enumerate()
        .map(|(index, (name, values))| match values {
            Values::Bytes(_) => format!("unhex(value ->> {index}) AS {name}"),
            _ => format!("value ->> {index} AS {name}"),
        })
        .collect();
    format!(
        "(SELECT {} FROM json_each(${})) AS r",
        columns.join(", "),
        args.len()
    )
}

fn cell(values: &Values, index: usize) -> Value {
    match values {
        Values::Ints(values) => values[index].into(),
        Values::Reals(values) => values[index].into(),
        Values::Bools(values) => values[index].map(i64::from).into(),
        Values::Texts(values) => values[index].clone().into(),
        Values::Bytes(values) => values[index].as_deref().map(hex).into(),
        Values::Times(values) => values[index].map(|time| time.to_string()).into(),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
