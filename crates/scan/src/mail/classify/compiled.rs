//! Rules compiled for matching: one set of patterns per field, searched once per mail.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder, SetMatches};

use super::file::{self, Capture, Patterns, Rule, RulesError};
use super::{Class, Classification, Mail, Source};
use crate::mail::message::list_identifier;
use crate::mail::patch;
use crate::mail::subject::{self, Subject};

/// Bodies are searched this far: what robots say stands on top.
const MAX_BODY: usize = 32 * 1024;
/// Longer subjects are cut before matching.
const MAX_LINE: usize = 4000;
/// Values longer than this are not captured.
const MAX_CAPTURE: usize = 500;

/// The rules of one system, ready to use.
#[derive(Debug)]
pub struct Rules {
    ordered: Vec<CompiledRule>,
    captures: Vec<CompiledCapture>,
    sets: [PatternSet; FIELDS],
}

impl Rules {
    /// The shipped rules; compiled once per process.
    pub fn shipped(system: &str) -> Result<&'static Self, RulesError> {
        type Compiled = LazyLock<Option<Rules>>;
        static APACHE: Compiled = LazyLock::new(|| Rules::load("apache", &BTreeMap::new()).ok());
        static LORE: Compiled = LazyLock::new(|| Rules::load("lore", &BTreeMap::new()).ok());
        static GENERIC: Compiled = LazyLock::new(|| Rules::load("generic", &BTreeMap::new()).ok());
        let rules = match system {
            "apache" => APACHE.as_ref(),
            "lore" => LORE.as_ref(),
            "generic" => GENERIC.as_ref(),
            _ => None,
        };
        // Loading again tells what is wrong; tests keep the shipped files right.
        rules.ok_or_else(|| {
            let again = Self::load(system, &BTreeMap::new());
            again
                .err()
                .unwrap_or_else(|| RulesError::UnknownSystem(system.to_owned()))
        })
    }

    /// The rules of a system, with files from configuration in place of the shipped ones.
    pub fn load(system: &str, overrides: &BTreeMap<String, String>) -> Result<Self, RulesError> {
        let files = file::load(system, overrides)?;
        let mut sets: [Vec<String>; FIELDS] = Default::default();
        let mut rules = Vec::new();
        let mut captures = Vec::new();
        for file in files {
            let bad = |source: regex::Error| RulesError::Pattern {
                system: file.system.clone(),
                source: Box::new(source),
            };
            for rule in &file.rules {
                rules.push(CompiledRule::new(&file.system, rule, &mut sets).map_err(bad)?);
            }
            for capture in &file.captures {
                captures.push(CompiledCapture::new(capture).map_err(bad)?);
            }
        }
        let mut compiled = Vec::with_capacity(FIELDS);
        for patterns in sets {
            compiled.push(
                PatternSet::new(patterns).map_err(|source| RulesError::Pattern {
                    system: system.to_owned(),
                    source: Box::new(source),
                })?,
            );
        }
        let sets = <[PatternSet; FIELDS]>::try_from(compiled)
            .map_err(|_| RulesError::UnknownSystem(system.to_owned()))?;
        Ok(Self {
            ordered: rules,
            captures,
            sets,
        })
    }

    /// The first rule that holds decides; without one the mail is unclassified.
    pub fn classify(&self, mail: &Mail<'_>) -> Classification {
        let view = View::new(mail, &self.sets);
        for rule in &self.ordered {
            if rule.holds(&view) {
                let mut captures = BTreeMap::new();
                rule.capture(&view, &mut captures);
                for capture in &self.captures {
                    capture.fill(rule.class, &view, &mut captures);
                }
                return Classification {
                    class: rule.class,
                    rule: rule.label.clone(),
                    source: rule.source,
                    captures,
                };
            }
        }
        Classification {
            class: Class::Unclassified,
            rule: "none".to_owned(),
            source: Source::Default,
            captures: BTreeMap::new(),
        }
    }
}

/// Fields with a pattern set of their own.
const FIELDS: usize = 6;

#[derive(Clone, Copy, Debug)]
enum Field {
    Subject,
    Topic,
    Sender,
    ListId,
    ListAddress,
    List,
}

/// All patterns on one field.
#[derive(Debug)]
struct PatternSet {
    set: RegexSet,
    patterns: Vec<Pattern>,
}

impl PatternSet {
    fn new(patterns: Vec<String>) -> Result<Self, regex::Error> {
        Ok(Self {
            // The default cache is too small for these sets and would be rebuilt all the time.
            set: RegexSetBuilder::new(&patterns)
                .unicode(false)
                .dfa_size_limit(16 << 20)
                .build()?,
            patterns: patterns.into_iter().map(Pattern::new).collect(),
        })
    }
}

/// A pattern compiled when first needed: most rules never run their own.
#[derive(Debug)]
struct Pattern {
    text: String,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn new(text: String) -> Self {
        Self {
            text,
            regex: OnceLock::new(),
        }
    }

    fn checked(text: &str) -> Result<Self, regex::Error> {
        let pattern = Self::new(text.to_owned());
        let _ = pattern.regex.set(Some(compile(text)?));
        Ok(pattern)
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| compile(&self.text).ok()).as_ref()
    }

    fn is_match(&self, text: &str) -> bool {
        self.regex()
            .is_some_and(|regex| regex.is_match(text.as_bytes()))
    }

    /// Adds the named groups of the first find, without touching what is there.
    fn capture(
        &self,
        text: &str,
        except: Option<&Pattern>,
        captures: &mut BTreeMap<String, String>,
    ) {
        let Some(regex) = self.regex() else {
            return;
        };
        let found = regex.captures_iter(text.as_bytes()).take(50).find(|found| {
            let whole = found.get(0).map_or(&b""[..], |whole| whole.as_bytes());
            !except.is_some_and(|except| except.is_match(&String::from_utf8_lossy(whole)))
        });
        let Some(found) = found else {
            return;
        };
        for name in regex.capture_names().flatten() {
            if let Some(value) = found.name(name)
                && !value.is_empty()
                && value.len() <= MAX_CAPTURE
                && !captures.contains_key(name)
            {
                let value = String::from_utf8_lossy(value.as_bytes());
                captures.insert(name.to_owned(), value.trim().to_owned());
            }
        }
    }
}

/// Classes such as `\w` and `\b` are ASCII: what robots write is, and it keeps matching in one pass.
fn compile(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).unicode(false).build()
}

/// Where a rule's patterns stand in the set of a field.
type Places = std::ops::Range<usize>;

#[derive(Debug)]
struct CompiledRule {
    label: String,
    class: Class,
    source: Source,
    reply: Option<bool>,
    tag: Vec<String>,
    unless_tag: Vec<String>,
    diff: Option<bool>,
    in_patch_thread: Option<bool>,
    /// Any pattern of each must match.
    required: Vec<(Field, Places)>,
    /// None of these may match.
    refused: Vec<(Field, Places)>,
    body: Vec<Pattern>,
    headers: Vec<(String, Pattern)>,
}

impl CompiledRule {
    fn new(
        system: &str,
        rule: &Rule,
        sets: &mut [Vec<String>; FIELDS],
    ) -> Result<Self, regex::Error> {
        let mut place = |field: Field, patterns: &Patterns| {
            let set = &mut sets[field as usize];
            let start = set.len();
            set.extend_from_slice(patterns.as_slice());
            (start < set.len()).then_some((field, start..set.len()))
        };
        let required: Vec<_> = [
            place(Field::Subject, &rule.subject),
            place(Field::Topic, &rule.topic),
            place(Field::Sender, &rule.sender),
            place(Field::ListId, &rule.list_id),
            place(Field::ListAddress, &rule.list_address),
            place(Field::List, &rule.list),
        ]
        .into_iter()
        .flatten()
        .collect();
        let refused = [
            place(Field::Subject, &rule.unless_subject),
            place(Field::List, &rule.unless_list),
        ];
        Ok(Self {
            label: format!("{system}/{}", rule.name),
            class: rule.class.unwrap_or(Class::Unclassified),
            source: source_of(rule),
            reply: rule.reply,
            tag: rule.tag.clone(),
            unless_tag: rule.unless_tag.clone(),
            diff: rule.diff,
            in_patch_thread: rule.in_patch_thread,
            required,
            refused: refused.into_iter().flatten().collect(),
            body: rule
                .body
                .as_slice()
                .iter()
                .map(|text| Pattern::checked(text))
                .collect::<Result<_, _>>()?,
            headers: compile_headers(&rule.header)?,
        })
    }

    fn holds(&self, view: &View<'_, '_>) -> bool {
        let parsed = &view.parsed;
        self.reply.is_none_or(|wanted| {
            if wanted {
                parsed.is_reply
            } else {
                !parsed.is_reply && !parsed.is_forward
            }
        }) && self
            .in_patch_thread
            .is_none_or(|wanted| wanted == view.mail.in_patch_thread)
            && (self.tag.is_empty() || self.tag.iter().any(|tag| tag == parsed.tag.kind.as_str()))
            && !self
                .unless_tag
                .iter()
                .any(|tag| tag == parsed.tag.kind.as_str())
            && self
                .required
                .iter()
                .all(|(field, places)| view.any(*field, places))
            && !self
                .refused
                .iter()
                .any(|(field, places)| view.any(*field, places))
            && self.headers.iter().all(|(name, pattern)| {
                view.header(name)
                    .is_some_and(|value| pattern.is_match(value))
            })
            && self.diff.is_none_or(|wanted| wanted == view.has_diff())
            && (self.body.is_empty() || self.body.iter().any(|pattern| pattern.is_match(view.body)))
    }

    fn capture(&self, view: &View<'_, '_>, captures: &mut BTreeMap<String, String>) {
        for (field, places) in &self.required {
            let set = &view.sets[*field as usize];
            let matches = view.matches(*field);
            for place in places
                .clone()
                .filter(|place| matches.matched(*place))
                .take(1)
            {
                set.patterns[place].capture(view.text(*field), None, captures);
            }
        }
        for pattern in &self.body {
            pattern.capture(view.body, None, captures);
        }
        for (name, pattern) in &self.headers {
            if let Some(value) = view.header(name) {
                pattern.capture(value, None, captures);
            }
        }
    }
}

#[derive(Debug)]
struct CompiledCapture {
    classes: Vec<Class>,
    subject: Vec<Pattern>,
    body: Vec<Pattern>,
    headers: Vec<(String, Pattern)>,
    except: Option<Pattern>,
    /// The names it can give; nothing to do where all are there.
    names: Vec<String>,
}

impl CompiledCapture {
    fn new(capture: &Capture) -> Result<Self, regex::Error> {
        let compile = |patterns: &Patterns| {
            patterns
                .as_slice()
                .iter()
                .map(|text| Pattern::checked(text))
                .collect::<Result<Vec<_>, _>>()
        };
        let (subject, body) = (compile(&capture.subject)?, compile(&capture.body)?);
        let headers = compile_headers(&capture.header)?;
        let names = subject
            .iter()
            .chain(&body)
            .chain(headers.iter().map(|(_, pattern)| pattern))
            .filter_map(Pattern::regex)
            .flat_map(|regex| regex.capture_names().flatten())
            .map(str::to_owned)
            .collect();
        Ok(Self {
            classes: capture.classes.clone(),
            subject,
            body,
            headers,
            except: capture
                .except
                .as_deref()
                .map(Pattern::checked)
                .transpose()?,
            names,
        })
    }

    fn fill(&self, class: Class, view: &View<'_, '_>, captures: &mut BTreeMap<String, String>) {
        let concerned = self.classes.is_empty() || self.classes.contains(&class);
        if !concerned || self.names.iter().all(|name| captures.contains_key(name)) {
            return;
        }
        let except = self.except.as_ref();
        for pattern in &self.subject {
            pattern.capture(view.subject, except, captures);
        }
        for (name, pattern) in &self.headers {
            if let Some(value) = view.header(name) {
                pattern.capture(value, except, captures);
            }
        }
        for pattern in &self.body {
            pattern.capture(view.body, except, captures);
        }
    }
}

fn compile_headers(
    header: &BTreeMap<String, String>,
) -> Result<Vec<(String, Pattern)>, regex::Error> {
    header
        .iter()
        .map(|(name, text)| Ok((name.to_ascii_lowercase(), Pattern::checked(text)?)))
        .collect()
}

fn source_of(rule: &Rule) -> Source {
    let given = |patterns: &Patterns| !patterns.as_slice().is_empty();
    if given(&rule.subject) || given(&rule.topic) || !rule.tag.is_empty() {
        Source::Subject
    } else if given(&rule.body) || rule.diff.is_some() {
        Source::Body
    } else if given(&rule.sender) {
        Source::Sender
    } else if !rule.header.is_empty() {
        Source::Header
    } else if given(&rule.list_id) || given(&rule.list) {
        Source::ListId
    } else if given(&rule.list_address) {
        Source::ListAddress
    } else if rule.in_patch_thread.is_some() {
        Source::Thread
    } else {
        Source::Default
    }
}

/// One mail during matching: fields cut to size, and what has been found out so far.
struct View<'m, 'r> {
    mail: &'m Mail<'m>,
    sets: &'r [PatternSet; FIELDS],
    subject: &'m str,
    topic: &'m str,
    list_id: String,
    list_address: String,
    body: &'m str,
    parsed: Subject,
    matches: [OnceCell<SetMatches>; FIELDS],
    diff: OnceCell<bool>,
}

impl<'m, 'r> View<'m, 'r> {
    fn new(mail: &'m Mail<'m>, sets: &'r [PatternSet; FIELDS]) -> Self {
        let subject = cut(mail.subject, MAX_LINE);
        Self {
            mail,
            sets,
            subject,
            topic: subject::topic(subject),
            list_id: list_identifier(cut(mail.list_id, MAX_LINE)).unwrap_or_default(),
            list_address: mail.list_address.to_ascii_lowercase(),
            body: cut(mail.body, MAX_BODY),
            parsed: subject::parse(subject),
            matches: Default::default(),
            diff: OnceCell::new(),
        }
    }

    fn text(&self, field: Field) -> &str {
        match field {
            Field::Subject => self.subject,
            Field::Topic => self.topic,
            Field::Sender => cut(self.mail.from, MAX_LINE),
            Field::ListAddress => &self.list_address,
            Field::List if self.list_id.is_empty() => &self.list_address,
            Field::ListId | Field::List => &self.list_id,
        }
    }

    fn matches(&self, field: Field) -> &SetMatches {
        self.matches[field as usize].get_or_init(|| {
            self.sets[field as usize]
                .set
                .matches(self.text(field).as_bytes())
        })
    }

    fn any(&self, field: Field, places: &Places) -> bool {
        let matches = self.matches(field);
        places.clone().any(|place| matches.matched(place))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.mail
            .headers
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| cut(value, MAX_LINE))
    }

    fn has_diff(&self) -> bool {
        *self
            .diff
            .get_or_init(|| self.mail.has_patch || patch::has_diff(self.mail.body))
    }
}

fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
