//! A shard as Parquet: the same fields under the same names, lists as lists.

use std::{fs::File, path::Path, sync::Arc};

use parquet::{
    basic::Compression,
    data_type::{BoolType, ByteArray, ByteArrayType, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::parser::parse_message_type,
};

use super::{DumpError, DumpRow};

/// How a column is had from a row.
enum Column {
    Text(fn(&DumpRow) -> &str),
    MaybeText(fn(&DumpRow) -> Option<&str>),
    Texts(fn(&DumpRow) -> &[String]),
    Number(fn(&DumpRow) -> i64),
    MaybeNumber(fn(&DumpRow) -> Option<i64>),
    Flag(fn(&DumpRow) -> bool),
}

/// In the order of [`DumpRow`].
const COLUMNS: &[(&str, Column)] = &[
    ("filename", Column::Text(|row| &row.filename)),
    ("project", Column::Text(|row| &row.project)),
    ("version", Column::Text(|row| &row.version)),
    ("dist_type", Column::Text(|row| &row.dist_type)),
    ("sha256", Column::MaybeText(|row| row.sha256.as_deref())),
    ("requires_dist", Column::Texts(|row| &row.requires_dist)),
    (
        "requires_python",
        Column::MaybeText(|row| row.requires_python.as_deref()),
    ),
    ("extras", Column::Texts(|row| &row.extras)),
    ("modules", Column::Texts(|row| &row.modules)),
    ("import_names", Column::Texts(|row| &row.import_names)),
    ("tags", Column::Texts(|row| &row.tags)),
    ("url", Column::Text(|row| &row.url)),
    ("size", Column::MaybeNumber(|row| row.size)),
    (
        "upload_time",
        Column::MaybeText(|row| row.upload_time.as_deref()),
    ),
    ("yanked", Column::MaybeText(|row| row.yanked.as_deref())),
    ("removed", Column::Flag(|row| row.removed)),
    ("quarantined", Column::Flag(|row| row.quarantined)),
    ("serial", Column::MaybeNumber(|row| row.serial)),
    ("extracted", Column::Text(|row| &row.extracted)),
    ("refusal", Column::MaybeText(|row| row.refusal.as_deref())),
    ("extractor", Column::MaybeNumber(|row| row.extractor)),
    ("seq", Column::Number(|row| row.seq)),
];

/// A Parquet file that is being written.
pub(super) struct Columns(SerializedFileWriter<File>);

impl Columns {
    pub(super) fn create(path: &Path) -> Result<Self, DumpError> {
        let schema = Arc::new(parse_message_type(&schema())?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::LZ4_RAW)
            .set_created_by("gleaner".to_owned())
            .build();
        let file = File::create(path)?;
        Ok(Self(SerializedFileWriter::new(
            file,
            schema,
            Arc::new(properties),
        )?))
    }

    /// Writes rows as one group.
    pub(super) fn write(&mut self, rows: &[DumpRow]) -> Result<(), DumpError> {
        let mut group = self.0.next_row_group()?;
        for (_, column) in COLUMNS {
            if let Some(mut writer) = group.next_column()? {
                column.write(rows, &mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), DumpError> {
        self.0.close()?;
        Ok(())
    }
}

fn schema() -> String {
    let columns = COLUMNS.iter().map(|(name, column)| match column {
        Column::Text(_) => format!("REQUIRED BINARY {name} (STRING);"),
        Column::MaybeText(_) => format!("OPTIONAL BINARY {name} (STRING);"),
        Column::Texts(_) => format!(
            "REQUIRED GROUP {name} (LIST) {{ REPEATED GROUP list {{ REQUIRED BINARY element (STRING); }} }}"
        ),
        Column::Number(_) => format!("REQUIRED INT64 {name};"),
        Column::MaybeNumber(_) => format!("OPTIONAL INT64 {name};"),
        Column::Flag(_) => format!("REQUIRED BOOLEAN {name};"),
    });
    let columns: Vec<String> = columns.collect();
    format!(
        "message python_distribution_data {{ {} }}",
        columns.join(" ")
    )
}

impl Column {
    fn write(
        &self,
        rows: &[DumpRow],
        out: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        match self {
            Self::Text(of) => {
                let values: Vec<ByteArray> = rows.iter().map(|row| of(row).into()).collect();
                let out = out.typed::<ByteArrayType>();
                out.write_batch(&values, None, None)?;
            }
            Self::MaybeText(of) => {
                let values = rows.iter().filter_map(of).map(ByteArray::from);
                let values: Vec<ByteArray> = values.collect();
                let there = there(rows, |row| of(row).is_some());
                let out = out.typed::<ByteArrayType>();
                out.write_batch(&values, Some(&there), None)?;
            }
            Self::Texts(of) => {
                let values = rows.iter().flat_map(of);
                let values: Vec<ByteArray> = values.map(|text| text.as_str().into()).collect();
                // An empty list is one level without a value; the first of a list begins a row.
                let mut there = Vec::with_capacity(values.len());
                let mut goes_on = Vec::with_capacity(values.len());
                for texts in rows.iter().map(of) {
                    there.push(i16::from(!texts.is_empty()));
                    goes_on.push(0);
                    for _ in texts.iter().skip(1) {
                        there.push(1);
                        goes_on.push(1);
                    }
                }
                let out = out.typed::<ByteArrayType>();
                out.write_batch(&values, Some(&there), Some(&goes_on))?;
            }
            Self::Number(of) => {
                let values: Vec<i64> = rows.iter().map(of).collect();
                let out = out.typed::<Int64Type>();
                out.write_batch(&values, None, None)?;
            }
            Self::MaybeNumber(of) => {
                let values: Vec<i64> = rows.iter().filter_map(of).collect();
                let there = there(rows, |row| of(row).is_some());
                let out = out.typed::<Int64Type>();
                out.write_batch(&values, Some(&there), None)?;
            }
            Self::Flag(of) => {
                let values: Vec<bool> = rows.iter().map(of).collect();
                let out = out.typed::<BoolType>();
                out.write_batch(&values, None, None)?;
            }
        }
        Ok(())
    }
}

fn there(rows: &[DumpRow], is_some: impl Fn(&DumpRow) -> bool) -> Vec<i16> {
    rows.iter().map(|row| i16::from(is_some(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Analysts rely on one set of names.
    #[test]
    fn the_columns_are_the_fields() {
        let fields = serde_json::to_value(DumpRow::default()).unwrap();
        let mut fields: Vec<&String> = fields.as_object().unwrap().keys().collect();
        let mut columns: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        fields.sort();
        columns.sort_unstable();
        assert_eq!(fields, columns);
    }
}
