//! Rows of either database, read by column name.

use sqlx::{
    Column as _, Decode, Postgres, Row as _, Type, TypeInfo as _, postgres::PgRow,
    sqlite::SqliteRow,
};

use crate::{DbError, Timestamp, statement::PgTime};

/// One row of an answer.
#[derive(Debug)]
pub enum Row {
    #[doc(hidden)]
    Sqlite(SqliteRow),
    #[doc(hidden)]
    Postgres(PgRow),
}

impl Row {
    /// The value in `column`. Ask for an `Option` where it may be null.
    pub fn get<T: Column>(&self, column: &str) -> Result<T, DbError> {
        T::read(self, column).map_err(|error| DbError::Value {
            column: column.to_owned(),
            why: error.to_string(),
        })
    }
}

/// What can be read from a column.
pub trait Column: Sized {
    #[doc(hidden)]
    fn read(row: &Row, column: &str) -> Result<Self, sqlx::Error>;
}

macro_rules! column {
    ($($type:ty),*) => {$(
        impl Column for $type {
            fn read(row: &Row, column: &str) -> Result<Self, sqlx::Error> {
                // Through Option: SQLite's driver reads a null as zero or empty.
                Option::<Self>::read(row, column)?.ok_or_else(unexpected_null)
            }
        }
        impl Column for Option<$type> {
            fn read(row: &Row, column: &str) -> Result<Self, sqlx::Error> {
                match row {
                    Row::Sqlite(row) => row.try_get(column),
                    Row::Postgres(row) => row.try_get(column),
                }
            }
        }
    )*};
}

column!(f64, bool, String, Vec<u8>);

impl Column for Option<i64> {
    fn read(row: &Row, column: &str) -> Result<Self, sqlx::Error> {
        match row {
            Row::Sqlite(row) => row.try_get(column),
            // PostgreSQL has two widths of them.
            Row::Postgres(row) => match row.try_column(column)?.type_info().name() {
                "INT4" => Ok(row.try_get::<Option<i32>, _>(column)?.map(i64::from)),
                _ => row.try_get(column),
            },
        }
    }
}

impl Column for i64 {
    fn read(row: &Row, column: &str) -> Result<Self, sqlx::Error> {
        Option::<Self>::read(row, column)?.ok_or_else(unexpected_null)
    }
}

impl Column for Option<Timestamp> {
    fn read(row: &Row, column: &str) -> Result<Self, sqlx::Error> {
        match row {
            Row::Postgres(row) => {
                let time: Option<PgTime> = row.try_get(column)?;
                Ok(time.map(|time| time.0))
            }
            Row::Sqlite(row) => {
                let text: Option<String> = row.try_get(column)?;
                text.map(|text| text.parse::<Timestamp>())
                    .transpose()
                    .map_err(|error| sqlx::Error::Decode(Box::new(error)))
            }
        }
    }
}

impl Column for Timestamp {
    fn read(row: &Row, column: &str) -> Result<Self, sqlx::Error> {
        Option::<Self>::read(row, column)?.ok_or_else(unexpected_null)
    }
}

fn unexpected_null() -> sqlx::Error {
    sqlx::Error::Decode("unexpected null".into())
}

impl<'r> Decode<'r, Postgres> for PgTime {
    fn decode(value: sqlx::postgres::PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        use sqlx::postgres::PgValueFormat;
        match value.format() {
            PgValueFormat::Binary => {
                let micros = <i64 as Decode<Postgres>>::decode(value)?;
                Ok(Self(Timestamp::from_postgres(micros)))
            }
            PgValueFormat::Text => {
                Err("times are read in the binary format only: use a prepared statement".into())
            }
        }
    }
}

// `try_get` compares by type name; this keeps the two impls above honest.
const _: fn() = || {
    fn readable<T: Type<Postgres>>() {}
    readable::<PgTime>();
};
