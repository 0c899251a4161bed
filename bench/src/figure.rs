//! What a bench says: one JSON object per line.

use std::io::{self, Write as _};

use serde::Serialize;

/// One figure. `peer` names what was measured when it was not us, or what we
/// are compared with when `unit` is a ratio.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    pub bench: &'static str,
    pub metric: &'static str,
    pub value: f64,
    pub unit: &'static str,
    /// None where no database takes part.
    pub database: Option<&'static str>,
    pub peer: Option<&'static str>,
    /// What of several this figure is about: a format, a forge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Which of several passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
}

impl Figure {
    pub(crate) fn new(bench: &'static str, database: impl Into<Option<&'static str>>) -> Self {
        Self {
            bench,
            metric: "",
            value: 0.0,
            unit: "",
            database: database.into(),
            peer: None,
            of: None,
            pass: None,
            batch: None,
            workers: None,
        }
    }

    /// Prints this figure with another metric, value and unit.
    pub(crate) fn print(
        &self,
        metric: &'static str,
        value: f64,
        unit: &'static str,
    ) -> io::Result<()> {
        let figure = Self {
            metric,
            value: rounded(value),
            unit,
            ..self.clone()
        };
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &figure)?;
        writeln!(out)
    }

    /// The same about one of several.
    pub(crate) fn of(&self, what: impl Into<String>) -> Self {
        Self {
            of: Some(what.into()),
            ..self.clone()
        }
    }

    pub(crate) fn peer(&self, peer: &'static str) -> Self {
        Self {
            peer: Some(peer),
            ..self.clone()
        }
    }
}

/// Four significant digits: more would be noise.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powf(3.0 - value.abs().log10().floor());
    if scale >= 1.0 {
        (value * scale).round() / scale
    } else {
        value.round()
    }
}

/// The value that `share` of all lie below.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let place = (values.len().saturating_sub(1) as f64 * share).round() as usize;
    values.get(place).copied().unwrap_or_default()
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// CPU seconds that this process has used, where the system tells: on a busy
/// machine the one figure that does not depend on the neighbours.
pub(crate) fn cpu_seconds() -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything: state is field 3, the times are 14 and 15.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

/// Resident memory of this process in bytes: now, and the most since [`forget_peak`]. None where
/// the system does not tell.
pub(crate) fn memory() -> Option<(f64, f64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        let number = line.split_whitespace().nth(1)?;
        number.parse::<f64>().ok()
    };
    Some((kilobytes("VmRSS:")? * 1024.0, kilobytes("VmHWM:")? * 1024.0))
}

/// Lets the most memory count from here on, where the system can do that.
pub(crate) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Tells a person what is going on, on stderr.
pub(crate) fn remark(text: &str) {
    // A closed stderr is no reason to stop measuring.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
