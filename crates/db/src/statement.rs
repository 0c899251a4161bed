//! A statement: one text for both databases and its typed arguments.

use sqlx::{
    Arguments as _, AssertSqlSafe, Encode, Postgres, SqlSafeStr as _, SqlStr, Type,
    encode::IsNull,
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgArguments, PgHasArrayType, PgTypeInfo, types::Oid},
    sqlite::SqliteArguments,
};

use crate::{DbError, Timestamp};

/// SQL with `$1`, `$2`… and the arguments for them. Made by [`sql!`](crate::sql).
#[derive(Clone, Debug)]
pub struct Statement {
    /// Fixed, or built from fixed pieces by this crate or its callers; never from outside text.
    pub(crate) text: SqlStr,
    pub(crate) args: Vec<Arg>,
}

/// Makes a [`Statement`](crate::Statement): text first, then its arguments in order.
#[macro_export]
macro_rules! sql {
    ($text:expr $(, $arg:expr)* $(,)?) => {
        $crate::Statement::new($text)$(.bind($arg))*
    };
}

impl Statement {
    /// A statement from a fixed text.
    pub fn new(text: &'static str) -> Self {
        Self {
            text: text.into_sql_str(),
            args: Vec::new(),
        }
    }

    /// A statement from a text put together at run time. The pieces must be the
    /// program's own words: anything from outside is an argument.
    pub fn built(text: String) -> Self {
        Self {
            text: AssertSqlSafe(text).into_sql_str(),
            args: Vec::new(),
        }
    }

    /// Adds the next argument.
    pub fn bind(mut self, value: impl IntoArg) -> Self {
        self.args.push(value.into_arg());
        self
    }

    /// Several statements as one text, for SQLite: the arguments of each come behind those of the
    /// ones before.
    pub(crate) fn together(all: Vec<Self>) -> Self {
        let mut all = all.into_iter();
        let Some(first) = all.next() else {
            return Self::new("");
        };
        if all.len() == 0 {
            return first;
        }
        let mut text = first.text.as_str().to_owned();
        let mut args = first.args;
        for next in all {
            text.push_str(";\n");
            push_numbered(&mut text, next.text.as_str(), args.len());
            args.extend(next.args);
        }
        Self {
            text: AssertSqlSafe(text).into_sql_str(),
            args,
        }
    }

    /// How many arguments there are.
    pub fn arguments(&self) -> usize {
        self.args.len()
    }
}

/// Appends a text whose `$n` are to mean arguments that come `behind` others.
fn push_numbered(text: &mut String, piece: &str, behind: usize) {
    let mut pieces = piece.split('$');
    text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        text.push('$');
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = piece.split_at(digits);
        match number.parse::<usize>() {
            Ok(number) => text.push_str(&(number + behind).to_string()),
            Err(_) => text.push_str(number),
        }
        text.push_str(rest);
    }
}

/// One argument, with its type even when it is null: PostgreSQL wants to know.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A whole number.
    Int(Option<i64>),
    /// A real number.
    Real(Option<f64>),
    /// Yes or no.
    Bool(Option<bool>),
    /// Text without NUL.
    Text(Option<String>),
    /// Bytes.
    Bytes(Option<Vec<u8>>),
    /// A moment.
    Time(Option<Timestamp>),
    #[doc(hidden)]
    Ints(Vec<Option<i64>>),
    #[doc(hidden)]
    Reals(Vec<Option<f64>>),
    #[doc(hidden)]
    Bools(Vec<Option<bool>>),
    #[doc(hidden)]
    Texts(Vec<Option<String>>),
    #[doc(hidden)]
    Byteses(Vec<Option<Vec<u8>>>),
    #[doc(hidden)]
    Times(Vec<Option<Timestamp>>),
}

/// What can stand behind a `$n`.
pub trait IntoArg {
    /// The argument.
    fn into_arg(self) -> Arg;
    /// The null of this type.
    fn null() -> Arg;
}

macro_rules! into_arg {
    ($($type:ty => $variant:ident, $convert:expr;)*) => {$(
        impl IntoArg for $type {
            fn into_arg(self) -> Arg { Arg::$variant(Some($convert(self))) }
            fn null() -> Arg { Arg::$variant(None) }
        }
    )*};
}

into_arg! {
    i64 => Int, |v| v;
    i32 => Int, i64::from;
    u32 => Int, i64::from;
    u16 => Int, i64::from;
    usize => Int, |v: usize| i64::try_from(v).unwrap_or(i64::MAX);
    f64 => Real, |v| v;
    bool => Bool, |v| v;
    String => Text, without_nul;
    &String => Text, |v: &String| without_nul(v.clone());
    &str => Text, |v: &str| without_nul(v.to_owned());
    Vec<u8> => Bytes, |v| v;
    &[u8] => Bytes, |v: &[u8]| v.to_vec();
    Timestamp => Time, |v| v;
}

impl<T: IntoArg> IntoArg for Option<T> {
    fn into_arg(self) -> Arg {
        self.map_or_else(T::null, T::into_arg)
    }
    fn null() -> Arg {
        T::null()
    }
}

/// PostgreSQL refuses NUL in text, SQLite does not; so that both hold the same,
/// a NUL becomes the replacement character on the way in.
pub(crate) fn without_nul(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}

pub(crate) fn sqlite_arguments(args: Vec<Arg>) -> Result<SqliteArguments, DbError> {
    let mut out = SqliteArguments::default();
    for arg in args {
        match arg {
            Arg::Int(value) => out.add(value),
            Arg::Real(value) => out.add(value),
            Arg::Bool(value) => out.add(value),
            Arg::Text(value) => out.add(value),
            Arg::Bytes(value) => out.add(value),
            Arg::Time(value) => out.add(value.map(|time| time.to_string())),
            Arg::Ints(_)
            | Arg::Reals(_)
            | Arg::Bools(_)
            | Arg::Texts(_)
            | Arg::Byteses(_)
            | Arg::Times(_) => Err("arrays go to SQLite as JSON only".into()),
        }
        .map_err(|error| DbError::Statement(sqlx::Error::Encode(error)))?;
    }
    Ok(out)
}

pub(crate) fn postgres_arguments(args: Vec<Arg>) -> Result<PgArguments, DbError> {
    let mut out = PgArguments::default();
    for arg in args {
        match arg {
            Arg::Int(value) => out.add(value),
            Arg::Real(value) => out.add(value),
            Arg::Bool(value) => out.add(value),
            Arg::Text(value) => out.add(value),
            Arg::Bytes(value) => out.add(value),
            Arg::Time(value) => out.add(value.map(PgTime)),
            Arg::Ints(values) => out.add(values),
            Arg::Reals(values) => out.add(values),
            Arg::Bools(values) => out.add(values),
            Arg::Texts(values) => out.add(values),
            Arg::Byteses(values) => out.add(values),
            Arg::Times(values) => out.add(
                values
                    .into_iter()
                    .map(|value| value.map(PgTime))
                    .collect::<Vec<_>>(),
            ),
        }
        .map_err(|error| DbError::Statement(sqlx::Error::Encode(error)))?;
    }
    Ok(out)
}

/// A [`Timestamp`] on its way to PostgreSQL: microseconds since 2000, binary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PgTime(pub(crate) Timestamp);

impl Type<Postgres> for PgTime {
    fn type_info() -> PgTypeInfo {
        // By number, as PostgreSQL has always had it: a name would have to be looked up on each
        // connection, and a look between two messages loses an unnamed statement.
        PgTypeInfo::with_oid(Oid(1184))
    }
}

impl PgHasArrayType for PgTime {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(1185))
    }
}

impl Encode<'_, Postgres> for PgTime {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Postgres>::encode(self.0.to_postgres(), buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_their_statements_when_those_travel_together() {
        let all = vec![
            Statement::new("BEGIN IMMEDIATE"),
            crate::sql!("UPDATE t SET a = $2, b = '$.x' WHERE a = $1", 1, 2),
            crate::sql!("DELETE FROM t WHERE a = $1 AND b = $12 -- all of them", 3),
            Statement::new("COMMIT"),
        ];
        let together = Statement::together(all);
        assert_eq!(
            together.text.as_str(),
            "BEGIN IMMEDIATE;\nUPDATE t SET a = $2, b = '$.x' WHERE a = $1;\n\
             DELETE FROM t WHERE a = $3 AND b = $14 -- all of them;\nCOMMIT"
        );
        assert_eq!(together.args.len(), 3);
    }
}
