//! The commands, one file for each first word.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod db;
pub(crate) mod distribution;
pub(crate) mod doctor;
pub(crate) mod drill;
pub(crate) mod go;
pub(crate) mod group;
pub(crate) mod health;
pub(crate) mod help;
pub(crate) mod inspect;
pub(crate) mod license;
pub(crate) mod mail;
pub(crate) mod manifest;
mod own_store;
pub(crate) mod pool;
pub(crate) mod pypi;
pub(crate) mod repo;
pub(crate) mod serve;
pub(crate) mod sim;
pub(crate) mod unit;
pub(crate) mod upstream;
pub(crate) mod worker;
