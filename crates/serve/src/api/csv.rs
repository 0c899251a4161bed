//! Lists as comma separated values: a header, and an empty cell for what is not known.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::Value;

use crate::problem::Problem;

/// Rows in the order of `columns`; what is itself a list or an object is written as JSON.
pub(super) fn table(columns: &[&str], rows: &[impl Serialize]) -> Result<Response, Problem> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).map_err(Problem::internal)?;
    for row in rows {
        let row = serde_json::to_value(row).map_err(Problem::internal)?;
        let cells = columns.iter().map(|column| cell(&row[*column]));
        writer.write_record(cells).map_err(Problem::internal)?;
    }
    let bytes = writer.into_inner().map_err(Problem::internal)?;
    let mut response = bytes.into_response();
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/csv; charset=utf-8"),
    );
    Ok(response)
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
