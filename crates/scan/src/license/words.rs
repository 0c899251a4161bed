//! Text as a row of plain words, each with its line.
//!
//! Comment marks, markup, punctuation, case and the shape of lines go; what is left of a license is
//! the same in a C header, a shell script and a page of HTML.

/// The most words that are looked at: no license is longer, and whatever a file says of itself
/// stands before that.
const MOST_WORDS: usize = 200_000;

/// A word's place.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    end: u32,
    line: u32,
}

/// The words of a text.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// All of them, lower-case, one space between two.
    joined: String,
    places: Vec<Place>,
}

impl Words {
    /// Takes a text apart.
    pub(super) fn new(text: &str) -> Self {
        let mut words = Self::default();
        for (number, line) in text.lines().enumerate() {
            words.take_line(line, u32::try_from(number + 1).unwrap_or(u32::MAX));
            if words.places.len() >= MOST_WORDS {
                break;
            }
        }
        words
    }

    fn take_line(&mut self, line: &str, number: u32) {
        let parts = line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '+')));
        let mut first = true;
        for part in parts {
            let part = part.trim_start_matches(['.', '-', '+']);
            let part = part.trim_end_matches(['.', '-']);
            if part.is_empty() {
                continue;
            }
            // Comment marks that are words.
            if std::mem::take(&mut first) && matches!(part, "dnl" | "REM" | "rem") {
                continue;
            }
            if self.places.len() >= MOST_WORDS {
                return;
            }
            self.push(part, number);
        }
    }

    fn push(&mut self, part: &str, line: u32) {
        if !self.joined.is_empty() {
            self.joined.push(' ');
        }
        let start = self.joined.len();
        self.joined
            .extend(part.chars().flat_map(char::to_lowercase));
        // Two spellings of one word.
        for (british, american) in [
            ("licence", "license"),
            ("licences", "licenses"),
            ("licenced", "licensed"),
            ("sublicence", "sublicense"),
        ] {
            if &self.joined[start..] == british {
                self.joined.truncate(start);
                self.joined.push_str(american);
            }
        }
        let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.places.push(Place {
            start: clamp(start),
            end: clamp(self.joined.len()),
            line,
        });
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The word at a place; empty behind the last.
    pub(super) fn get(&self, index: usize) -> &str {
        self.places.get(index).map_or("", |place| {
            &self.joined[place.start as usize..place.end as usize]
        })
    }

    /// The line of the word at a place, counted from 1; the last line behind the last word.
    pub(super) fn line(&self, index: usize) -> u32 {
        let place = self.places.get(index).or_else(|| self.places.last());
        place.map_or(1, |place| place.line)
    }

    /// All words from one place to another.
    pub(super) fn between(&self, from: usize, to: usize) -> impl Iterator<Item = &str> {
        (from..to.min(self.len())).map(|index| self.get(index))
    }

    /// Whether these words follow each other from a place on.
    pub(super) fn is_at(&self, index: usize, phrase: &[&str]) -> bool {
        phrase
            .iter()
            .enumerate()
            .all(|(offset, word)| self.get(index + offset) == *word)
    }

    /// Where the words of a phrase, one space between two, follow each other: indexes of the first.
    pub(super) fn find_all(&self, phrase: &str) -> Vec<usize> {
        let text = self.joined.as_bytes();
        let is_edge = |at: usize| text.get(at).is_none_or(|byte| *byte == b' ');
        memchr::memmem::find_iter(text, phrase)
            .filter(|at| (*at == 0 || is_edge(at - 1)) && is_edge(at + phrase.len()))
            .filter_map(|at| {
                let at = u32::try_from(at).ok()?;
                self.places
                    .binary_search_by_key(&at, |place| place.start)
                    .ok()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_lines_make_no_difference() {
        let c = Words::new("/* Licensed under the\n * Apache License, Version 2.0 */");
        let shell = Words::new("# Licensed under the Apache\n# Licence, Version 2.0.\n");
        assert_eq!(c.joined, shell.joined);
        assert_eq!(c.find_all("apache license version 2.0"), [3]);
        assert_eq!((c.line(3), shell.line(3)), (2, 1));
        assert!(c.find_all("ache license").is_empty());
        assert!(c.is_at(0, &["licensed", "under"]));
        assert_eq!(c.get(99), "");
    }
}
