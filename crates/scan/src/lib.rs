//! scan

pub mod manifest;
