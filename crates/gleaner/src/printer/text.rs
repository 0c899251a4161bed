//! Text of others on our terminal.

use std::borrow::Cow;

/// Makes every character visible: text from outside must neither move the cursor, nor change
/// colours, nor turn the direction of the line. Line ends are escaped as well.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_active(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Control characters, line and paragraph separators, and the marks that reorder text.
pub(super) fn is_active(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_shown_and_not_obeyed() {
        assert_eq!(visible("plain ünïcode ✓"), "plain ünïcode ✓");
        assert_eq!(
            visible("a\u{1b}[2Jb\r\n\u{9b}c\u{202e}d"),
            "a\\u{1b}[2Jb\\r\\n\\u{9b}c\\u{202e}d"
        );
    }
}
