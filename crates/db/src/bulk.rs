//! Many rows in one statement.
//!
//! A statement per row through sqlx reaches 9,000 rows/s on SQLite (a thread
//! hop each); one JSON array through `json_each` reaches 300,000. PostgreSQL
//! takes one array per column through `UNNEST`: 89,000 rows/s at 1,000 rows a
//! commit. So a bulk statement says `{rows}` where it wants a table called `r`,
//! and this file, the only one, knows what to put there.

use std::fmt::Write as _;

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
    /// Texts of which each may be a page or more.
    Pages(Vec<Option<String>>),
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

    /// A column of long texts: the same as [`Bulk::texts`], and cheaper for pages of text.
    pub fn pages<T: Into<Option<String>>>(
        mut self,
        name: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values = values
            .into_iter()
            .map(|value| value.into().map(without_nul))
            .collect();
        self.columns.push((name, Values::Pages(values)));
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
            Self::Texts(values) | Self::Pages(values) => values.len(),
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
            Values::Texts(values) | Values::Pages(values) => (Arg::Texts(values), "text"),
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
    let place = args.len() + 1;
    // What is long lies end to end in an argument of its own, from which each row takes its part:
    // neither escaped, nor spelled in digits, nor parsed.
    let mut heaps = Vec::new();
    let mut column = |values: &Values, value: &str| match values {
        Values::Bytes(_) | Values::Pages(_) => {
            let part = format!(
                "substr(${}, {value} / 4294967296, {value} % 4294967296)",
                place + 1 + heaps.len()
            );
            heaps.push(Arg::Bytes(Some(heap(values))));
            match values {
                Values::Pages(_) => format!("CAST({part} AS TEXT)"),
                _ => part,
            }
        }
        _ => value.to_owned(),
    };
    let (json, table) = match rows.columns.as_slice() {
        // Read in one go. An array of arrays is parsed once for the rows and
        // once more for each cell, which is most of what short rows cost.
        [(name, values)] => (
            scalars(values),
            format!("SELECT {} AS {name} FROM", column(values, "value")),
        ),
        [(key, Values::Ints(keys)), (name, values)]
            if keys.iter().all(Option::is_some)
                && matches!(
                    values,
                    Values::Ints(_) | Values::Bytes(_) | Values::Pages(_)
                ) =>
        {
            let table = format!(
                "SELECT CAST(key AS INTEGER) AS {key}, {} AS {name} FROM",
                column(values, "value")
            );
            (pairs(keys, &Places::of(values)), table)
        }
        columns => {
            let selected: Vec<String> = columns
                .iter()
                .enumerate()
                .map(|(index, (name, values))| {
                    format!(
                        "{} AS {name}",
                        column(values, &format!("(value ->> {index})"))
                    )
                })
                .collect();
            (arrays(rows), format!("SELECT {} FROM", selected.join(", ")))
        }
    };
    args.push(Arg::Text(Some(json)));
    args.append(&mut heaps);
    format!("({table} json_each(${place})) AS r")
}

/// All long values, end to end.
fn heap(values: &Values) -> Vec<u8> {
    let mut heap = Vec::new();
    match values {
        Values::Bytes(values) => values.iter().flatten().for_each(|one| heap.extend(one)),
        Values::Pages(values) => values
            .iter()
            .flatten()
            .for_each(|one| heap.extend(one.as_bytes())),
        _ => {}
    }
    heap
}

/// What stands in the cells of a column: its numbers, or where the long values lie in their heap,
/// position (from 1, as SQL counts) and length in one number.
struct Places(Vec<Option<i64>>);

impl Places {
    fn of(values: &Values) -> Self {
        let sizes: Vec<Option<usize>> = match values {
            Values::Ints(values) => return Self(values.clone()),
            Values::Bytes(values) => sizes(values, Vec::len),
            Values::Pages(values) => sizes(values, String::len),
            _ => Vec::new(),
        };
        let mut at: i64 = 1;
        let places = sizes.into_iter().map(|size| {
            let size = i64::try_from(size?).unwrap_or(i64::MAX);
            let place = (at << 32) | size;
            at += size;
            Some(place)
        });
        Self(places.collect())
    }
}

fn sizes<T>(values: &[Option<T>], len: impl Fn(&T) -> usize) -> Vec<Option<usize>> {
    values
        .iter()
        .map(|value| value.as_ref().map(&len))
        .collect()
}

/// `[1,2,3]`.
fn scalars(values: &Values) -> String {
    let places = match values {
        Values::Bytes(_) | Values::Pages(_) => Places::of(values),
        _ => Places(Vec::new()),
    };
    let mut json = String::from("[");
    for index in 0..values.len() {
        if index > 0 {
            json.push(',');
        }
        cell(&mut json, values, &places, index);
    }
    json.push(']');
    json
}

/// `{"1":4,"2":5}`: SQLite goes through the pairs as they stand, twins included.
fn pairs(keys: &[Option<i64>], Places(values): &Places) -> String {
    let mut json = String::with_capacity(16 * keys.len());
    json.push('{');
    for (index, (key, value)) in keys.iter().flatten().zip(values).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(json, "{comma}\"{key}\":");
        plain(&mut json, *value);
    }
    json.push('}');
    json
}

/// `[[1,"a"],[2,"b"]]`.
fn arrays(rows: &Bulk) -> String {
    let places: Vec<Places> = rows
        .columns
        .iter()
        .map(|(_, values)| match values {
            Values::Bytes(_) | Values::Pages(_) => Places::of(values),
            _ => Places(Vec::new()),
        })
        .collect();
    let mut json = String::from("[");
    for index in 0..rows.len() {
        json.push_str(if index > 0 { ",[" } else { "[" });
        for (place, ((_, values), places)) in rows.columns.iter().zip(&places).enumerate() {
            if place > 0 {
                json.push(',');
            }
            cell(&mut json, values, places, index);
        }
        json.push(']');
    }
    json.push(']');
    json
}

fn cell(json: &mut String, values: &Values, Places(places): &Places, index: usize) {
    match values {
        Values::Ints(values) => plain(json, values[index]),
        // Numbers that JSON cannot say become null, as serde_json has it.
        Values::Reals(values) => json.push_str(&Value::from(values[index]).to_string()),
        Values::Bools(values) => plain(json, values[index].map(i64::from)),
        Values::Texts(values) => match &values[index] {
            Some(text) => quote(json, text),
            None => json.push_str("null"),
        },
        Values::Bytes(_) | Values::Pages(_) => plain(json, places[index]),
        Values::Times(values) => match values[index] {
            Some(time) => {
                let _ = write!(json, "\"{time}\"");
            }
            None => json.push_str("null"),
        },
    }
}

fn quote(json: &mut String, text: &str) {
    // Most texts are ids and words that stand for themselves.
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        json.push('"');
        json.push_str(text);
        json.push('"');
    } else {
        json.push_str(&Value::from(text).to_string());
    }
}

fn plain(json: &mut String, value: Option<i64>) {
    match value {
        Some(value) => {
            let _ = write!(json, "{value}");
        }
        None => json.push_str("null"),
    }
}
