#![doc = include_str!("../README.md")]

mod bulk;
mod clock;
mod connect;
mod error;
mod migrate;
mod postgres;
mod row;
mod schema;
mod sqlite;
mod statement;
#[cfg(feature = "testing")]
pub mod testing;
mod timestamp;
mod transaction;
mod wake;
mod write_queue;

pub use bulk::Bulk;
pub use clock::{Clock, FakeClock};
pub use connect::{Db, Dialect, Settings};
pub use error::DbError;
pub use migrate::{Migration, Part, SchemaState, migrate, schema_state};
pub use row::{Column, Row};
pub use schema::dump_schema;
pub use statement::{Arg, IntoArg, Statement};
pub use timestamp::Timestamp;
pub use transaction::{Conflicts, Transact, Tx};
pub use wake::Wakes;
