//! collect

pub mod answer;
pub mod distribution;
pub mod git;
