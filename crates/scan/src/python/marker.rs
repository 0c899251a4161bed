//! Environment markers: `python_version < "3.9" and extra == "test"`.

/// Whether the text is a marker.
pub(super) fn check_marker(text: &str) -> bool {
    let mut words = Words { rest: text };
    any_of(&mut words, 0) && words.next().is_none()
}

/// Deeper parentheses are an attack, not a condition.
const MAX_DEPTH: usize = 64;

fn any_of(words: &mut Words<'_>, depth: usize) -> bool {
    loop {
        if !all_of(words, depth) {
            return false;
        }
        if !words.take("or") {
            return true;
        }
    }
}

fn all_of(words: &mut Words<'_>, depth: usize) -> bool {
    loop {
        if !condition(words, depth) {
            return false;
        }
        if !words.take("and") {
            return true;
        }
    }
}

fn condition(words: &mut Words<'_>, depth: usize) -> bool {
    if words.take("(") {
        return depth < MAX_DEPTH && any_of(words, depth + 1) && words.take(")");
    }
    value(words) && operator(words) && value(words)
}

fn value(words: &mut Words<'_>) -> bool {
    words
        .next()
        .is_some_and(|word| word.starts_with(['"', '\'']) || VARIABLES.contains(&word))
}

fn operator(words: &mut Words<'_>) -> bool {
    match words.next() {
        Some("not") => words.take("in"),
        Some(word) => matches!(
            word,
            "in" | "<=" | "<" | "!=" | "==" | ">=" | ">" | "~=" | "==="
        ),
        None => false,
    }
}

/// The dotted and the short forms are those of the first proposals; files of
/// that time are still served.
const VARIABLES: [&str; 20] = [
    "python_version",
    "python_full_version",
    "os_name",
    "sys_platform",
    "platform_release",
    "platform_system",
    "platform_version",
    "platform_machine",
    "platform_python_implementation",
    "implementation_name",
    "implementation_version",
    "extra",
    "extras",
    "dependency_groups",
    "os.name",
    "sys.platform",
    "platform.version",
    "platform.machine",
    "platform.python_implementation",
    "python_implementation",
];

struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    /// The next word, or nothing at the end and before what is no word.
    fn peek(&self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let first = rest.chars().next()?;
        let length = match first {
            '(' | ')' => 1,
            '"' | '\'' => rest[1..].find(first)? + 2,
            '<' | '>' | '=' | '!' | '~' => run(rest, |c| matches!(c, '<' | '>' | '=' | '!' | '~')),
            _ => run(rest, |c| {
                c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
            }),
        };
        // A character that begins no word is handed out whole, to be refused.
        Some(if length == 0 {
            &rest[..first.len_utf8()]
        } else {
            &rest[..length]
        })
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek();
        let Some(word) = word else {
            // An unclosed string leaves text behind, which is not the end.
            let rest = std::mem::take(&mut self.rest).trim_start();
            return (!rest.is_empty()).then_some("\u{0}");
        };
        self.rest = &self.rest.trim_start()[word.len()..];
        Some(word)
    }

    fn take(&mut self, wanted: &str) -> bool {
        let here = self.peek() == Some(wanted);
        if here {
            self.next();
        }
        here
    }
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}
