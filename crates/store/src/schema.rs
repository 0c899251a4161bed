//! The store's part of the schema.

use db::{Migration, Part};

/// Tables and views about facts.
pub const PART: Part = Part {
    name: "store",
    migrations: &[
        Migration {
            number: 1,
            name: "catalogue",
            sql: include_str!("../migrations/0001_catalogue.sql"),
            serves: 1,
        },
        Migration {
            number: 2,
            name: "evidence",
            sql: include_str!("../migrations/0002_evidence.sql"),
            serves: 1,
        },
        Migration {
            number: 3,
            name: "views",
            sql: include_str!("../migrations/0003_views.sql"),
            serves: 1,
        },
        Migration {
            number: 4,
            name: "drill",
            sql: include_str!("../migrations/0004_drill.sql"),
            serves: 1,
        },
        Migration {
            number: 5,
            name: "http cache",
            sql: include_str!("../migrations/0005_http_cache.sql"),
            serves: 1,
        },
        Migration {
            number: 6,
            name: "forges",
            sql: include_str!("../migrations/0006_forges.sql"),
            serves: 1,
        },
        Migration {
            number: 7,
            name: "declared names",
            sql: include_str!("../migrations/0007_declared_names.sql"),
            serves: 1,
        },
        Migration {
            number: 8,
            name: "blobs",
            sql: include_str!("../migrations/0008_blobs.sql"),
            serves: 1,
        },
        Migration {
            number: 9,
            name: "distribution",
            sql: include_str!("../migrations/0009_distribution.sql"),
            serves: 1,
        },
        Migration {
            number: 10,
            name: "goindex",
            sql: include_str!("../migrations/0010_goindex.sql"),
            serves: 1,
        },
        Migration {
            number: 11,
            name: "license",
            sql: include_str!("../migrations/0011_license.sql"),
            serves: 1,
        },
        Migration {
            number: 12,
            name: "mail",
            sql: include_str!("../migrations/0012_mail.sql"),
            serves: 1,
        },
        Migration {
            number: 13,
            name: "pypi",
            sql: include_str!("../migrations/0013_pypi.sql"),
            serves: 1,
        },
    ],
};
