//! The complete example file, made from the table of keys.

use std::fmt::Write as _;

use super::{
    keys::{Key, SECTIONS, Section},
    value::bare_or_quoted,
};

const HEAD: &str = "\
# Every setting of gleaner with its default. Made by `gleaner config example`.
#
# gleaner runs without this file. It looks for it at `--config FILE`, then at GLEANER_CONFIG, then
# for ./gleaner.toml, then in the platform's configuration directory. Flags win over the
# environment, the environment over this file. `gleaner config check` reads it and complains,
# `gleaner config show --origin` tells what holds and why.
#
# Durations: \"250ms\", \"90s\", \"15m\", \"6h\", \"180d\". Sizes: \"50MiB\", \"2GiB\".
# Unknown keys are refused.
";

/// The text of `gleaner.example.toml`.
pub(crate) fn example() -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        text.push('\n');
        comment(&mut text, section.doc);
        match section.example_name {
            Some(name) => {
                let _ = writeln!(text, "#[{}.{}]", section.name, bare_or_quoted(name));
            }
            None => {
                let _ = writeln!(text, "[{}]", section.name);
            }
        }
        for key in section.keys {
            setting(&mut text, section, key);
        }
    }
    text
}

fn setting(text: &mut String, section: &Section, key: &Key) {
    comment(text, key.doc);
    if !section.is_named() {
        comment(text, &format!("Environment: {}", key.variable(section)));
    }
    if let Ok(value) = key.kind.parse(key.example) {
        let _ = writeln!(text, "#{} = {value}", key.name);
    }
}

/// Comment lines of at most 100 columns.
fn comment(text: &mut String, words: &str) {
    let mut width = 0;
    for word in words.split(' ') {
        if width == 0 || width + 1 + word.chars().count() > 100 {
            if width > 0 {
                text.push('\n');
            }
            text.push('#');
            width = 1;
        }
        let _ = write!(text, " {word}");
        width += 1 + word.chars().count();
    }
    text.push('\n');
}
