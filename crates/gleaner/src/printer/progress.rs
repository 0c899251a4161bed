//! Work that goes on, as people like to see it.
//!
//! The caller hands over the whole picture at each look, one [`Gauge`] per thing that moves; this
//! file decides what becomes of it: bars on a terminal, one line every 30 s elsewhere (so that a
//! log of a night's run stays readable), nothing under `-q` or `GLEANER_NO_PROGRESS`.

use std::{
    collections::BTreeMap,
    env, fmt,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::Printer;

const HEARTBEAT: Duration = Duration::from_secs(30);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Off,
    Bars,
    Heartbeat,
}

impl Mode {
    pub(super) fn choose(quiet: bool, terminal: bool) -> Self {
        let unwanted = env::var_os("GLEANER_NO_PROGRESS").is_some_and(|value| !value.is_empty());
        match (quiet || unwanted, terminal) {
            (true, _) => Self::Off,
            (false, true) => Self::Bars,
            (false, false) => Self::Heartbeat,
        }
    }
}

/// One thing that moves.
#[derive(Clone, Debug)]
pub(crate) struct Gauge {
    pub(crate) name: String,
    pub(crate) done: u64,
    /// `None` when nobody knows how much there is.
    pub(crate) total: Option<u64>,
    /// A few words more, such as what is running now.
    pub(crate) detail: String,
}

impl fmt::Display for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.done)?;
        if let Some(total) = self.total {
            write!(f, " of {total}")?;
        }
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        Ok(())
    }
}

/// A view of work that goes on. Bars are gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    mode: Mode,
    printer: Printer,
    bars: BTreeMap<String, ProgressBar>,
    last_line: Option<Instant>,
}

impl Progress {
    pub(super) fn new(mode: Mode, printer: Printer) -> Self {
        Self {
            mode,
            printer,
            bars: BTreeMap::new(),
            last_line: None,
        }
    }

    /// Whether it is worth looking at all.
    pub(crate) fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }

    /// Shows how things are at `now`.
    pub(crate) fn show(&mut self, now: Instant, gauges: &[Gauge]) {
        match self.mode {
            Mode::Off => {}
            Mode::Bars => gauges.iter().for_each(|gauge| self.draw(gauge)),
            Mode::Heartbeat => {
                if let Some(line) = self.heartbeat(now, gauges) {
                    self.printer.note(&line);
                }
            }
        }
    }

    fn heartbeat(&mut self, now: Instant, gauges: &[Gauge]) -> Option<String> {
        // The first line comes after one interval: short runs need none.
        let last = *self.last_line.get_or_insert(now);
        if now.duration_since(last) < HEARTBEAT || gauges.is_empty() {
            return None;
        }
        self.last_line = Some(now);
        let gauges: Vec<String> = gauges.iter().map(Gauge::to_string).collect();
        Some(format!("at work: {}", gauges.join(", ")))
    }

    fn draw(&mut self, gauge: &Gauge) {
        let bar = self.bars.entry(gauge.name.clone()).or_insert_with(|| {
            let bar = self.printer.bars.add(ProgressBar::no_length());
            bar.set_style(style(gauge.total.is_some()));
            bar.set_prefix(gauge.name.clone());
            bar
        });
        if let Some(total) = gauge.total {
            bar.set_length(total);
        }
        bar.set_position(gauge.done);
        bar.set_message(gauge.detail.clone());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        for bar in self.bars.values() {
            bar.finish_and_clear();
        }
    }
}

fn style(known_total: bool) -> ProgressStyle {
    let template = if known_total {
        "{prefix:20} {wide_bar} {pos}/{len} {msg} {eta}"
    } else {
        "{prefix:20} {spinner} {pos} {msg}"
    };
    // The templates above are sound; the default style is as good a stand-in as any.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_every_thirty_seconds() {
        let printer = Printer::new(None, true);
        let mut progress = Progress::new(Mode::Heartbeat, printer);
        let gauge = Gauge {
            name: "distribution".into(),
            done: 3,
            total: Some(10),
            detail: "2 running".into(),
        };
        let start = Instant::now();
        let mut line = |seconds| {
            let at = start + Duration::from_secs(seconds);
            progress.heartbeat(at, std::slice::from_ref(&gauge))
        };
        assert_eq!(line(0), None);
        assert_eq!(line(29), None);
        assert_eq!(
            line(30).as_deref(),
            Some("at work: distribution 3 of 10 (2 running)")
        );
        assert_eq!(line(59), None);
        assert!(line(60).is_some());
    }
}
