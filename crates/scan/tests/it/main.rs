//! The parsers, through their public doors. One program: linking twenty took minutes.

mod go_mod_file;
mod go_names;
mod go_resolve;
mod license_corpus;
mod license_hostile;
mod mail_corpus;
mod mail_hostile;
mod mail_mbox;
mod mail_message;
mod mail_rules;
mod mail_series;
mod manifest_corpus;
mod manifest_fixtures;
mod manifest_hostile;
mod manifest_tree;
mod python_archives;
mod python_changelog;
mod python_metadata;
mod python_modules;
mod python_names;
mod python_sdist;
mod python_simple;
mod python_wheel;
mod release_asset;
