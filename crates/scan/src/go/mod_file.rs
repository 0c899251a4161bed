//! What an index needs from go.mod: path, language version, retractions, deprecation.
//!
//! The go command reads the module path with a scan that forgives everything
//! else, and the rest of a dependency's file with a parser that skips unknown
//! directives. Both are kept apart here as well: a file with a broken line still
//! declares its path, and the broken line is told in [`GoMod::problems`].

use super::Semver;
use super::mod_string::{plain, unquote};
use super::mod_syntax::{Directive, directives};

/// The largest go.mod the go command reads.
pub const MAX_GO_MOD: usize = 16 << 20;

/// What a go.mod says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoMod {
    /// The declared module path, as it stands; not yet checked.
    pub module: Option<String>,
    /// The language version, `1.23` or `1.23.4`.
    pub go: Option<String>,
    /// The message behind `// Deprecated:` at the module line.
    pub deprecated: Option<String>,
    /// Versions of this module withdrawn by its authors. They count only in the
    /// go.mod of the module's latest version.
    pub retractions: Vec<Retraction>,
    /// What the go command would refuse the file for.
    pub problems: Vec<Problem>,
}

/// A withdrawn version, or a closed interval of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retraction {
    pub low: String,
    pub high: String,
    pub rationale: Option<String>,
}

/// Something the go command does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from one.
    pub line: usize,
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("go.mod is larger than {MAX_GO_MOD} bytes")]
pub struct TooLarge;

impl GoMod {
    /// Reads the bytes of a go.mod; broken text is told in `problems`.
    pub fn read(bytes: &[u8]) -> Result<GoMod, TooLarge> {
        if bytes.len() > MAX_GO_MOD {
            return Err(TooLarge);
        }
        let text = String::from_utf8_lossy(bytes);
        let mut file = GoMod {
            module: declared_path(&text),
            ..GoMod::default()
        };
        match directives(&text) {
            Ok(found) => file.take(&found),
            Err(problem) => file.problems.push(problem),
        }
        Ok(file)
    }

    /// The first retraction that covers the version.
    pub fn retraction_of(&self, version: &str) -> Option<&Retraction> {
        self.retractions
            .iter()
            .find(|retraction| retraction.covers(version))
    }

    fn take(&mut self, found: &[Directive]) {
        let mut modules = 0;
        for directive in found {
            let taken = match directive.verb.as_str() {
                "module" => {
                    modules += 1;
                    self.take_module(directive, modules)
                }
                // `go ( … )` is a block Go does not know, and skips.
                "go" if !directive.in_block => self.take_go(directive),
                "retract" => {
                    self.take_retraction(directive);
                    Ok(())
                }
                _ => Ok(()),
            };
            if let Err(what) = taken {
                self.problems.push(Problem {
                    line: directive.line,
                    what,
                });
            }
        }
    }

    fn take_module(&mut self, directive: &Directive, nth: usize) -> Result<(), String> {
        if nth > 1 {
            return Err("a second module directive".to_owned());
        }
        self.deprecated = deprecation(&directive.comment);
        match directive.arguments.as_slice() {
            [path] => plain(path).map(|_| ()),
            _ => Err("module takes one path".to_owned()),
        }
    }

    fn take_go(&mut self, directive: &Directive) -> Result<(), String> {
        if self.go.is_some() {
            return Err("a second go directive".to_owned());
        }
        let [version] = directive.arguments.as_slice() else {
            return Err("go takes one version".to_owned());
        };
        self.go = Some(
            language_version(version).ok_or_else(|| format!("{version:?} is not a Go version"))?,
        );
        Ok(())
    }

    /// A retraction that cannot be read is passed over, as Go does in files
    /// other than the main module's: a later Go may know more forms.
    fn take_retraction(&mut self, directive: &Directive) {
        let words: Vec<&str> = directive.arguments.iter().map(String::as_str).collect();
        let (low, high) = match words.as_slice() {
            ["[", low, ",", high, "]", ..] => (*low, *high),
            [version, ..] => (*version, *version),
            [] => return,
        };
        let (Ok(low), Ok(high)) = (version(low), version(high)) else {
            return;
        };
        let rationale = Some(directive.comment.clone()).filter(|text| !text.is_empty());
        self.retractions.push(Retraction {
            low,
            high,
            rationale,
        });
    }
}

impl Retraction {
    /// Whether the version lies in the interval; a build part does not count.
    pub fn covers(&self, version: &str) -> bool {
        let plain = version.split_once('+').map_or(version, |(plain, _)| plain);
        let bare = |text: &str| {
            text.split_once('+')
                .map_or(text.to_owned(), |(bare, _)| bare.to_owned())
        };
        let (low, high) = (bare(&self.low), bare(&self.high));
        match (
            Semver::parse(&low),
            Semver::parse(plain),
            Semver::parse(&high),
        ) {
            (Some(low), Some(asked), Some(high)) => low <= asked && asked <= high,
            _ => false,
        }
    }
}

/// The path of the first line that begins with the word `module`, whatever the
/// rest of the file is like.
fn declared_path(text: &str) -> Option<String> {
    for line in text.split('\n') {
        let line = line.split_once("//").map_or(line, |(line, _)| line).trim();
        let Some(rest) = line.strip_prefix("module") else {
            continue;
        };
        let path = rest.trim();
        if path.is_empty() || path.len() == rest.len() {
            continue;
        }
        let declared = match path.as_bytes()[0] {
            b'"' => unquote(path),
            b'`' => path[1..]
                .strip_suffix('`')
                .filter(|raw| !raw.contains('`'))
                .map(str::to_owned),
            _ => Some(path.to_owned()),
        };
        return declared.filter(|path| !path.is_empty());
    }
    None
}

fn deprecation(comment: &str) -> Option<String> {
    let starts = std::iter::once(0).chain(
        comment
            .match_indices("\n\n")
            .map(|(at, gap)| at + gap.len()),
    );
    let message = starts
        .into_iter()
        .find_map(|at| comment[at..].strip_prefix("Deprecated:"))?;
    let message = message.trim_start_matches(' ');
    let end = message.find("\n\n").unwrap_or(message.len());
    Some(message[..end].to_owned()).filter(|text| !text.is_empty())
}

/// The language version; forms of the future (`v1.23-custom`) give their
/// beginning, as for any dependency.
fn language_version(text: &str) -> Option<String> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let major = digits(bare);
    let minor = digits(bare[major..].strip_prefix('.')?);
    let minor_text = &bare[major + 1..major + 1 + minor];
    let leading_zero = minor > 1 && minor_text.starts_with('0');
    if major == 0 || bare.starts_with('0') || minor == 0 || leading_zero {
        return None;
    }
    let rest = &bare[major + 1 + minor..];
    let exact = bare.len() == text.len() && is_exact_tail(rest);
    if exact {
        return Some(text.to_owned());
    }
    (!rest.is_empty()).then(|| bare[..=major + minor].to_owned())
}

/// `""`, `.4`, `rc1`, `.4rc1`
fn is_exact_tail(rest: &str) -> bool {
    let mut rest = rest;
    if let Some(tail) = rest.strip_prefix('.') {
        let after = tail.trim_start_matches(|c: char| c.is_ascii_digit());
        let patch = &tail[..tail.len() - after.len()];
        if patch.is_empty() || (patch.len() > 1 && patch.starts_with('0')) {
            return false;
        }
        rest = after;
    }
    if rest.is_empty() {
        return true;
    }
    let number = rest.trim_start_matches(|c: char| c.is_ascii_lowercase());
    number.len() < rest.len() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

fn version(text: &str) -> Result<String, String> {
    let text = plain(text)?;
    let Some(parsed) = Semver::parse(&text) else {
        return Err(format!("{text:?} is not a version"));
    };
    let suffix = if parsed.build() == "incompatible" {
        "+incompatible"
    } else {
        ""
    };
    Ok(parsed.canonical() + suffix)
}
