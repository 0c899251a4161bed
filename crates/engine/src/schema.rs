//! The engine's part of the schema.

use db::{Migration, Part};

/// The engine's tables, for [`db::migrate`].
pub const PART: Part = Part {
    name: "engine",
    migrations: &[
        Migration {
            number: 1,
            name: "engine",
            sql: include_str!("../migrations/0001_engine.sql"),
            serves: 1,
        },
        Migration {
            number: 2,
            name: "upstreams",
            sql: include_str!("../migrations/0002_upstreams.sql"),
            serves: 1,
        },
        Migration {
            number: 3,
            name: "processes",
            sql: include_str!("../migrations/0003_processes.sql"),
            serves: 1,
        },
    ],
};
