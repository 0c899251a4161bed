//! scan

pub mod mail;
pub mod manifest;
