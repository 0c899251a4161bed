//! scan

pub mod foundation;
pub mod go;
pub mod license;
pub mod mail;
pub mod manifest;
pub mod python;
pub mod release_asset;
