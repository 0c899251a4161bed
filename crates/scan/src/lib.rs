//! scan

pub mod go;
pub mod mail;
pub mod manifest;
