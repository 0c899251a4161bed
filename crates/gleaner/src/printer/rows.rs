//! Lists of data in four shapes.
//!
//! A row is any serialisable struct. In JSON its fields stand in the order of the struct; in tables
//! and CSV in the order of [`Row::COLUMNS`]. What is not known is `null`, an empty cell in CSV and
//! `-` in a table.

use std::{
    fmt::{self, Write as _},
    io::{self, Write},
    marker::PhantomData,
};

use serde::Serialize;
use serde_json::Value;

use super::{Format, text, visible};
use crate::error::{Failure, Result};

/// Cells of a table are cut here; the other formats have the whole text.
const WIDEST_CELL: usize = 100;

/// One line of a list.
pub(crate) trait Row: Serialize {
    /// The columns of CSV, in order.
    const COLUMNS: &'static [&'static str];
    /// The columns that people see in a table: all, unless there are too many for a screen.
    const TABLE: &'static [&'static str] = Self::COLUMNS;
}

/// A list that is being written.
pub(crate) struct List<R> {
    out: Out,
    count: usize,
    row: PhantomData<fn(&R)>,
}

enum Out {
    Table(Box<dyn Write>, Vec<Vec<String>>),
    Json(Box<dyn Write>),
    Jsonl(Box<dyn Write>),
    Csv(Box<csv::Writer<Box<dyn Write>>>),
}

impl<R: Row> List<R> {
    pub(super) fn begin(format: Format, out: Box<dyn Write>) -> Result<Self> {
        let out = match format {
            Format::Table => Out::Table(out, Vec::new()),
            Format::Json => Out::Json(out),
            Format::Jsonl => Out::Jsonl(out),
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(R::COLUMNS).map_err(csv_failure)?;
                Out::Csv(Box::new(writer))
            }
        };
        Ok(Self {
            out,
            count: 0,
            row: PhantomData,
        })
    }

    pub(crate) fn push(&mut self, row: &R) -> Result<()> {
        match &mut self.out {
            Out::Table(_, rows) => {
                let value = to_value(row)?;
                rows.push(cells(&value, R::TABLE).map(|cell| short(&cell)).collect());
            }
            Out::Json(out) => {
                let before = if self.count == 0 { "[\n  " } else { ",\n  " };
                write_all(out, before)?;
                write_json(out, row)?;
            }
            Out::Jsonl(out) => {
                write_json(out, row)?;
                write_all(out, "\n")?;
            }
            Out::Csv(writer) => {
                let value = to_value(row)?;
                let record = R::COLUMNS.iter().map(|column| csv_cell(&value[*column]));
                writer.write_record(record).map_err(csv_failure)?;
            }
        }
        self.count += 1;
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        let flushed = match self.out {
            Out::Table(mut out, rows) => {
                write_all(&mut out, &table(R::TABLE, rows))?;
                out.flush()
            }
            Out::Json(mut out) => {
                let end = if self.count == 0 { "[]\n" } else { "\n]\n" };
                write_all(&mut out, end)?;
                out.flush()
            }
            Out::Jsonl(mut out) => out.flush(),
            Out::Csv(mut writer) => writer.flush(),
        };
        flushed.map_err(|error| Failure::output(&error))
    }
}

impl<R> fmt::Debug for List<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// One thing on its own.
pub(super) fn record<R: Row>(format: Format, row: &R, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Table => {
            let value = to_value(row)?;
            let width = R::COLUMNS.iter().map(|name| name.len()).max().unwrap_or(0);
            let mut text = String::new();
            for (name, cell) in R::COLUMNS.iter().zip(cells(&value, R::COLUMNS)) {
                let _ = writeln!(text, "{name:width$}  {cell}");
            }
            write_all(out, &text)
        }
        Format::Json | Format::Jsonl => {
            write_json(out, row)?;
            write_all(out, "\n")
        }
        Format::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            writer.write_record(R::COLUMNS).map_err(csv_failure)?;
            let value = to_value(row)?;
            let record = R::COLUMNS.iter().map(|column| csv_cell(&value[*column]));
            writer.write_record(record).map_err(csv_failure)?;
            writer.flush().map_err(|error| Failure::output(&error))
        }
    }
}

fn table(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(columns.iter().map(|column| column.to_uppercase()));
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn cells<'a>(value: &'a Value, columns: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    columns.iter().map(|column| match &value[*column] {
        Value::Null => "-".to_owned(),
        Value::String(text) => visible(text).into_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) => match items.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            Some(words) if words.is_empty() => "-".to_owned(),
            Some(words) => visible(&words.join(", ")).into_owned(),
            None => visible(&value[*column].to_string()).into_owned(),
        },
        other => visible(&other.to_string()).into_owned(),
    })
}

fn csv_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn short(cell: &str) -> String {
    if cell.chars().count() <= WIDEST_CELL {
        return cell.to_owned();
    }
    let mut cut: String = cell.chars().take(WIDEST_CELL - 1).collect();
    cut.push('…');
    cut
}

fn to_value<R: Serialize>(row: &R) -> Result<Value> {
    serde_json::to_value(row).map_err(|error| Failure::output(&error.into()))
}

fn write_json<R: Serialize>(out: &mut dyn Write, row: &R) -> Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Harmless);
    row.serialize(&mut serializer)
        .map_err(|error| Failure::output(&error.into()))
}

fn write_all(out: &mut dyn Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes())
        .map_err(|error| Failure::output(&error))
}

fn csv_failure(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Failure::output(&error),
        other => Failure::output(&io::Error::other(format!("{other:?}"))),
    }
}

/// JSON in which no string can act on a terminal: what [`visible`] would escape is written as
/// `\u….`, which means the same to every reader.
struct Harmless;

impl serde_json::ser::Formatter for Harmless {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut rest = fragment;
        while let Some(at) = rest.find(text::is_active) {
            let (before, from) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut characters = from.chars();
            if let Some(active) = characters.next() {
                let mut units = [0; 2];
                for unit in active.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
            rest = characters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Serialize)]
    struct Thing {
        name: &'static str,
        size: Option<u64>,
        tags: Vec<&'static str>,
    }

    impl Row for Thing {
        const COLUMNS: &'static [&'static str] = &["name", "size", "tags"];
    }

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn shown(format: Format, rows: &[Thing]) -> String {
        let sink = Sink::default();
        let mut list = List::begin(format, Box::new(sink.clone())).unwrap();
        for row in rows {
            list.push(row).unwrap();
        }
        list.finish().unwrap();
        let bytes = sink.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn things() -> Vec<Thing> {
        vec![
            Thing {
                name: "a\u{9b}31m\u{202e}",
                size: None,
                tags: vec![],
            },
            Thing {
                name: "b, \"c\"",
                size: Some(7),
                tags: vec!["x", "y"],
            },
        ]
    }

    #[test]
    fn four_shapes_of_one_list() {
        insta::assert_snapshot!(shown(Format::Table, &things()), @r#"
        NAME                SIZE  TAGS
        a\u{9b}31m\u{202e}  -     -
        b, "c"              7     x, y
        "#);
        insta::assert_snapshot!(shown(Format::Json, &things()), @r#"
        [
          {"name":"a\u009b31m\u202e","size":null,"tags":[]},
          {"name":"b, \"c\"","size":7,"tags":["x","y"]}
        ]
        "#);
        insta::assert_snapshot!(shown(Format::Jsonl, &things()), @r#"
        {"name":"a\u009b31m\u202e","size":null,"tags":[]}
        {"name":"b, \"c\"","size":7,"tags":["x","y"]}
        "#);
        insta::assert_snapshot!(shown(Format::Csv, &things()[1..]), @r#"
        name,size,tags
        "b, ""c""",7,"[""x"",""y""]"
        "#);
    }

    #[test]
    fn an_empty_list_is_still_valid() {
        assert_eq!(shown(Format::Json, &[]), "[]\n");
        assert_eq!(shown(Format::Jsonl, &[]), "");
        assert_eq!(shown(Format::Csv, &[]), "name,size,tags\n");
        assert_eq!(shown(Format::Table, &[]), "");
    }
}
