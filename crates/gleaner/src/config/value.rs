//! Values of settings: what kinds there are, how they are read and shown.

use std::{
    fmt::{self, Write as _},
    net::SocketAddr,
    time::Duration,
};

use serde::{Serialize, Serializer};
use toml::de::DeValue;

use super::keys::Section;

/// What a setting may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Switch,
    Count {
        least: u64,
        most: u64,
        /// What to do instead of going below the least.
        instead: &'static str,
    },
    Duration,
    Size,
    Listen,
    /// An address that may hold a password, which is never shown.
    Database,
    BaseUrl,
    Paths,
    /// Where repositories are.
    Addresses,
    /// An address to write to.
    Mail,
    /// What can stand in a header.
    Line,
    /// One of a few words.
    Word {
        words: &'static [&'static str],
        /// The same for people.
        expected: &'static str,
    },
}

/// What a setting holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Switch(bool),
    Count(u64),
    Duration(Duration),
    Size(u64),
    Listen(SocketAddr),
    Database(String),
    BaseUrl(String),
    Paths(Vec<String>),
    Mail(String),
    Line(String),
}

/// Why a value was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What is wrong, without a headline.
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl Kind {
    pub(crate) const fn count(least: u64, most: u64, instead: &'static str) -> Self {
        Self::Count {
            least,
            most,
            instead,
        }
    }

    /// Reads what stands in the environment or after a flag.
    pub(crate) fn parse(self, text: &str) -> Result<Value, Refusal> {
        match self {
            Self::Switch => match text {
                "true" => Ok(Value::Switch(true)),
                "false" => Ok(Value::Switch(false)),
                _ => Err(self.mismatch(text)),
            },
            Self::Count { .. } => match text.parse() {
                Ok(number) => self.within(number),
                Err(_) => Err(self.mismatch(text)),
            },
            Self::Paths | Self::Addresses => {
                let paths = text
                    .split(',')
                    .map(str::trim)
                    .filter(|path| !path.is_empty());
                Ok(Value::Paths(paths.map(str::to_owned).collect()))
            }
            _ => self.parse_text(text),
        }
    }

    /// Reads what stands in the file.
    pub(crate) fn read(self, value: &DeValue<'_>) -> Result<Value, Refusal> {
        match (self, value) {
            (Self::Switch, DeValue::Boolean(switch)) => Ok(Value::Switch(*switch)),
            (Self::Count { .. }, DeValue::Integer(number)) => {
                match i128::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) if number < 0 => self.within(0),
                    Ok(number) => self.within(u64::try_from(number).unwrap_or(u64::MAX)),
                    Err(_) => Err(self.mismatch(number.as_str())),
                }
            }
            (Self::Duration | Self::Size, DeValue::Integer(number)) => {
                Err(self.unitless(number.as_str()))
            }
            (Self::Duration | Self::Size, DeValue::Float(number)) => {
                Err(self.unitless(number.as_str()))
            }
            (Self::Paths | Self::Addresses, DeValue::Array(items)) => {
                let paths = items
                    .iter()
                    .map(|item| item.get_ref().as_str().map(str::to_owned));
                match paths.collect() {
                    Some(paths) => Ok(Value::Paths(paths)),
                    None => Err(self.mismatch("a list that holds something else")),
                }
            }
            (Self::Switch | Self::Count { .. } | Self::Paths | Self::Addresses, other) => {
                Err(self.mismatch(other.type_str()))
            }
            (_, DeValue::String(text)) => self.parse_text(text),
            (_, other) => Err(self.mismatch(other.type_str())),
        }
    }

    fn parse_text(self, text: &str) -> Result<Value, Refusal> {
        match self {
            Self::Duration => match parse_duration(text) {
                Some(duration) => Ok(Value::Duration(duration)),
                None if is_number(text) => Err(self.unitless(text)),
                None => Err(self.mismatch(text)),
            },
            Self::Size => match parse_size(text) {
                Some(size) => Ok(Value::Size(size)),
                None if is_number(text) => Err(self.unitless(text)),
                None => Err(self.mismatch(text)),
            },
            Self::Listen => match text.parse() {
                Ok(address) => Ok(Value::Listen(address)),
                Err(_) => Err(self.mismatch(text)),
            },
            Self::Database => Ok(Value::Database(text.to_owned())),
            Self::BaseUrl if text.starts_with("http://") || text.starts_with("https://") => {
                Ok(Value::BaseUrl(text.trim_end_matches('/').to_owned()))
            }
            Self::Mail if is_mail(text) => Ok(Value::Mail(text.to_owned())),
            Self::Line if is_line(text) => Ok(Value::Line(text.to_owned())),
            Self::Word { words, .. } if words.contains(&text) => Ok(Value::Line(text.to_owned())),
            _ => Err(self.mismatch(text)),
        }
    }

    fn within(self, number: u64) -> Result<Value, Refusal> {
        match self {
            Self::Count { least, instead, .. } if number < least => Err(Refusal {
                message: format!("must be at least {least}"),
                hints: vec![instead.to_owned()],
            }),
            Self::Count { most, .. } if number > most => Err(Refusal {
                message: format!("must be at most {most}"),
                hints: Vec::new(),
            }),
            _ => Ok(Value::Count(number)),
        }
    }

    fn mismatch(self, found: &str) -> Refusal {
        let found: String = found.chars().take(60).collect();
        Refusal {
            message: format!("expected {}, found `{found}`", self.expected()),
            hints: Vec::new(),
        }
    }

    fn unitless(self, number: &str) -> Refusal {
        let (what, one, other) = match self {
            Self::Size => ("size", "MiB", "GiB"),
            _ => ("duration", "s", "d"),
        };
        Refusal {
            message: format!("a {what} needs a unit"),
            hints: vec![format!("write \"{number}{one}\" or \"{number}{other}\"")],
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Switch => "true or false",
            Self::Count { .. } => "a whole number",
            Self::Duration => "a duration such as \"90s\", \"6h\" or \"180d\"",
            Self::Size => "a size such as \"50MiB\" or \"2GiB\"",
            Self::Listen => "an address such as \"127.0.0.1:8787\"",
            Self::Database => "`sqlite:PATH` or `postgres://…`",
            Self::BaseUrl => "an address such as \"https://api.example.org\"",
            Self::Paths => "a list of paths",
            Self::Addresses => "a list of addresses",
            Self::Mail => "an address such as \"ops@example.org\"",
            Self::Line => "one line of plain ASCII",
            Self::Word { expected, .. } => expected,
        }
    }
}

impl Refusal {
    /// Names the section in hints that speak of it.
    pub(crate) fn in_section(mut self, section: &Section, name: Option<&str>) -> Self {
        let place = match name {
            Some(name) => format!("[{}.{}]", section.name, bare_or_quoted(name)),
            None => format!("[{}]", section.name),
        };
        for hint in &mut self.hints {
            if hint.contains("enabled = false") {
                // A pool cannot be switched off, but the round of that name can.
                let round = match name {
                    Some(name) => format!("[{}]", bare_or_quoted(name)),
                    None => place.clone(),
                };
                let _ = write!(hint, " under `{round}`");
            }
        }
        self
    }
}

impl Value {
    /// Without secrets.
    pub(crate) fn redacted(&self) -> Self {
        match self {
            Self::Database(url) => Self::Database(db::Db::redact(url)),
            Self::BaseUrl(url) => Self::BaseUrl(db::Db::redact(url)),
            other => other.clone(),
        }
    }
}

/// As it stands in the file.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(switch) => write!(f, "{switch}"),
            Self::Count(number) => write!(f, "{number}"),
            Self::Duration(duration) => write!(f, "\"{}\"", show_duration(*duration)),
            Self::Size(size) => write!(f, "\"{}\"", show_size(*size)),
            Self::Listen(address) => write!(f, "\"{address}\""),
            Self::Database(text) | Self::BaseUrl(text) | Self::Mail(text) | Self::Line(text) => {
                write!(f, "{}", quoted(text))
            }
            Self::Paths(paths) => {
                let paths: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
                write!(f, "[{}]", paths.join(", "))
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Switch(switch) => serializer.serialize_bool(*switch),
            Self::Count(number) => serializer.serialize_u64(*number),
            Self::Duration(duration) => serializer.serialize_str(&show_duration(*duration)),
            Self::Size(size) => serializer.serialize_str(&show_size(*size)),
            Self::Listen(address) => serializer.collect_str(address),
            Self::Database(text) | Self::BaseUrl(text) | Self::Mail(text) | Self::Line(text) => {
                serializer.serialize_str(text)
            }
            Self::Paths(paths) => paths.serialize(serializer),
        }
    }
}

/// A key of TOML, in quotes where it needs them.
pub(crate) fn bare_or_quoted(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Good enough to catch what is none; whether somebody reads it only they know.
fn is_mail(text: &str) -> bool {
    let parts = text.split_once('@');
    let plain = |c: char| c.is_ascii_graphic() && !"@<>,;\"".contains(c);
    parts.is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && format!("{name}{host}").chars().all(plain)
    })
}

fn is_line(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    !text.trim().is_empty() && text.len() <= 500 && text.chars().all(plain)
}

const DURATIONS: [(&str, u64); 6] = [
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

const SIZES: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// `"180d"`, `"1h30m"`.
fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut millis = 0_u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let (_, size) = DURATIONS.iter().find(|(name, _)| *name == unit)?;
        let part = number.parse::<u64>().ok()?.checked_mul(*size)?;
        millis = millis.checked_add(part)?;
        rest = tail.trim_start();
    }
    Some(Duration::from_millis(millis))
}

/// `"50MiB"`.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, size) = SIZES.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// In the largest unit that fits without a rest.
pub(crate) fn show_duration(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    // Weeks are read but not shown: "180d" is what people wrote.
    let fits = DURATIONS[1..]
        .iter()
        .find(|(_, size)| millis.is_multiple_of(*size));
    let (unit, size) = fits.unwrap_or(&("ms", 1));
    format!("{}{unit}", millis / size)
}

/// In the largest binary unit that fits without a rest.
pub(crate) fn show_size(size: u64) -> String {
    let fits = SIZES[..4]
        .iter()
        .find(|(_, unit)| size >= *unit && size.is_multiple_of(*unit));
    let (unit, divisor) = fits.unwrap_or(&("B", 1));
    format!("{}{unit}", size / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_come_back_as_written() {
        for text in ["180d", "90s", "6h", "250ms", "36h", "0s"] {
            assert_eq!(show_duration(parse_duration(text).unwrap()), text);
        }
        assert_eq!(parse_duration("1h30m"), Some(Duration::from_mins(90)));
        assert_eq!(parse_duration("2w"), Some(Duration::from_hours(14 * 24)));
        for text in ["50MiB", "2GiB", "1000B", "3KiB"] {
            assert_eq!(show_size(parse_size(text).unwrap()), text);
        }
        assert_eq!(parse_size("5 MB"), Some(5_000_000));
        for text in [
            "",
            "d",
            "5",
            "5 parsecs",
            "-5s",
            "5é",
            "99999999999999999999d",
            "é",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
            assert_eq!(parse_size(text), None, "{text}");
        }
    }
}
