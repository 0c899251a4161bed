//! HTML mail as plain text.
//!
//! Not a browser: enough structure that words stay apart and lines stay lines. Blocks begin lines,
//! quoted blocks get `> ` like plain mail, so that the same rules split them; what nobody sees
//! (head, styles, scripts, comments) is left out. What has been looked for in vain is not looked for
//! again, so broken markup costs no more than sound markup.

use mail_parser::decoders::html::add_html_token;
use memchr::{memchr, memchr2, memmem};

const MAX_ENTITY: usize = 32;
/// Deeper quotation is shown at this depth.
const MAX_QUOTE: usize = 20;

/// Renders HTML.
pub fn to_text(html: &str) -> String {
    let mut page = Page {
        out: String::with_capacity(html.len() / 2),
        ..Page::default()
    };
    let mut rest = html;
    while let Some(at) = memchr2(b'<', b'&', rest.as_bytes()) {
        page.text(&rest[..at]);
        rest = &rest[at..];
        rest = if rest.starts_with('&') {
            page.entity(rest)
        } else {
            page.markup(rest)
        };
    }
    page.text(rest);
    page.finish()
}

#[derive(Default)]
struct Page {
    out: String,
    /// Nothing but quote marks on the current line.
    at_line_start: bool,
    /// White space seen that separates the next word.
    space: bool,
    /// Line ends owed before the next word, at most two.
    breaks: usize,
    quote: usize,
    /// Of the line before: a blank line belongs to the shallower of its neighbours.
    last_quote: usize,
    preformatted: usize,
    /// No further comment ends in this document: looking again would take quadratic time.
    comments_open: bool,
    open_quotes: OpenQuotes,
    /// Elements known not to be closed any more.
    unclosed: Vec<String>,
}

impl Page {
    fn text(&mut self, text: &str) {
        if self.preformatted > 0 {
            for (number, line) in text.split('\n').enumerate() {
                if number > 0 {
                    self.breaks = (self.breaks + 1).min(2);
                    self.space = false;
                }
                if !line.is_empty() {
                    self.word(line);
                }
            }
            return;
        }
        for (number, word) in text.split([' ', '\t', '\n', '\r', '\u{a0}']).enumerate() {
            self.space |= number > 0;
            if !word.is_empty() {
                self.word(word);
            }
        }
    }

    /// Writes owed line ends, quote marks and the blank, then the word.
    fn word(&mut self, word: &str) {
        let fresh = self.out.is_empty();
        if self.breaks > 0 && !fresh {
            for number in 0..self.breaks {
                if number > 0 {
                    let common = self.quote.min(self.last_quote);
                    self.out.extend(std::iter::repeat_n('>', common));
                }
                self.out.push('\n');
            }
        }
        if self.breaks > 0 || fresh {
            self.out.extend(std::iter::repeat_n('>', self.quote));
            if self.quote > 0 {
                self.out.push(' ');
            }
            self.at_line_start = true;
            self.last_quote = self.quote;
        }
        if self.space && !self.at_line_start {
            self.out.push(' ');
        }
        self.out.push_str(word);
        self.at_line_start = false;
        self.space = false;
        self.breaks = 0;
    }

    fn line_break(&mut self) {
        self.breaks = self.breaks.max(1);
        self.space = false;
    }

    fn paragraph(&mut self) {
        self.breaks = 2;
        self.space = false;
    }

    /// Reads an entity at the start; returns what follows.
    fn entity<'h>(&mut self, rest: &'h str) -> &'h str {
        let near = &rest[..rest.floor_char_boundary(MAX_ENTITY)];
        let Some(end) = near.find(';') else {
            self.word("&");
            return &rest[1..];
        };
        let mut decoded = String::new();
        add_html_token(&mut decoded, &near.as_bytes()[..=end], false);
        self.text(&decoded.replace('\0', "\u{fffd}"));
        &rest[end + 1..]
    }

    /// Reads a tag, comment or declaration at the start; returns what follows.
    fn markup<'h>(&mut self, rest: &'h str) -> &'h str {
        if let Some(comment) = rest.strip_prefix("<!--")
            && !self.comments_open
        {
            match memmem::find(comment.as_bytes(), b"-->") {
                Some(end) => return &comment[end + 3..],
                None => self.comments_open = true,
            }
        }
        let Some(tag) = Tag::read(rest, &mut self.open_quotes) else {
            self.word("<");
            return &rest[1..];
        };
        let after = &rest[tag.length..];
        let name = tag.name.to_ascii_lowercase();
        match name.as_str() {
            "head" | "style" | "script" | "template" | "title"
                if !tag.closes && !self.unclosed.contains(&name) =>
            {
                match skip_element(after, &name) {
                    Some(behind) => return behind,
                    // Showing too much is better than losing the mail.
                    None => self.unclosed.push(name),
                }
            }
            "br" => self.breaks = (self.breaks + 1).min(2),
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "dl" | "hr" => {
                self.paragraph();
            }
            "blockquote" => {
                self.paragraph();
                self.quote = if tag.closes {
                    self.quote.saturating_sub(1)
                } else {
                    (self.quote + 1).min(MAX_QUOTE)
                };
            }
            "pre" => {
                self.paragraph();
                self.preformatted = if tag.closes {
                    self.preformatted.saturating_sub(1)
                } else {
                    1
                };
            }
            "li" => {
                self.line_break();
                if !tag.closes {
                    self.word("*");
                    self.space = true;
                }
            }
            "div" | "tr" | "table" | "dt" | "dd" | "section" | "article" | "header" | "footer"
            | "address" | "center" | "form" | "body" => self.line_break(),
            "td" | "th" => self.space = true,
            _ => {}
        }
        after
    }

    fn finish(mut self) -> String {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

struct Tag<'h> {
    name: &'h str,
    closes: bool,
    length: usize,
}

/// Which quotes are known not to be closed any more: looking again would take quadratic time.
#[derive(Default)]
struct OpenQuotes {
    single: bool,
    double: bool,
}

impl<'h> Tag<'h> {
    /// `<name …>`, `</name>`, `<!doctype …>`, `<?xml …?>`. Quoted attributes may hold `>`; a quote
    /// that is never closed was an apostrophe, and a tag that meets the next one was none.
    fn read(rest: &'h str, open: &mut OpenQuotes) -> Option<Self> {
        let bytes = rest.as_bytes();
        let closes = bytes.get(1) == Some(&b'/');
        let start = 1 + usize::from(closes);
        let first = *bytes.get(start)?;
        if !(first.is_ascii_alphabetic() || matches!(first, b'!' | b'?')) {
            return None;
        }
        let name = bytes[start..]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        let mut at = start + name;
        loop {
            at += bytes[at..]
                .iter()
                .position(|b| matches!(b, b'>' | b'<' | b'"' | b'\''))?;
            let is_open = match bytes[at] {
                b'>' => break,
                b'<' => return None,
                b'"' => &mut open.double,
                _ => &mut open.single,
            };
            let close = if *is_open {
                None
            } else {
                memchr(bytes[at], &bytes[at + 1..])
            };
            *is_open = close.is_none();
            at += close.map_or(1, |close| close + 2);
        }
        Some(Self {
            name: &rest[start..start + name],
            closes,
            length: at + 1,
        })
    }
}

/// What follows the end of the element; a head that never ends stops at the body.
fn skip_element<'h>(rest: &'h str, name: &str) -> Option<&'h str> {
    let bytes = rest.as_bytes();
    for at in memchr::memchr_iter(b'<', bytes) {
        let tail = &bytes[at + 1..];
        let closes = tail
            .strip_prefix(b"/")
            .is_some_and(|tail| starts_with_name(tail, name));
        if closes {
            let end = memchr(b'>', tail).map_or(bytes.len(), |end| at + end + 2);
            return Some(rest.get(end..).unwrap_or_default());
        }
        if name == "head" && starts_with_name(tail, "body") {
            return Some(&rest[at..]);
        }
    }
    None
}

fn starts_with_name(bytes: &[u8], name: &str) -> bool {
    bytes
        .get(..name.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()))
        && !bytes.get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::to_text;

    #[test]
    fn blocks_begin_lines_and_words_stay_apart() {
        let cases = [
            ("<div>a</div><div>b</div>", "a\nb\n"),
            ("<p>one<p>two", "one\n\ntwo\n"),
            ("<h1>Head</h1>Text<hr>x", "Head\n\nText\n\nx\n"),
            (
                "<table><tr><td>x</td><td>y</td></tr><tr><td>z</td></tr></table>",
                "x y\nz\n",
            ),
            ("<ul><li>one<li>two</ul>after", "* one\n* two\n\nafter\n"),
            ("a<br>b<br/><br />c", "a\nb\n\nc\n"),
            (
                "some <b>bold</b>, <i>slanted</i>\n  text",
                "some bold, slanted text\n",
            ),
            ("<pre>  keep\n  this</pre>x", "  keep\n  this\n\nx\n"),
        ];
        for (html, want) in cases {
            assert_eq!(to_text(html), want, "{html}");
        }
    }

    #[test]
    fn quotations_are_marked() {
        let html =
            "<p>Yes.</p><blockquote><p>first</p><p>second<br>line</p></blockquote><p>No.</p>";
        assert_eq!(
            to_text(html),
            "Yes.\n\n> first\n>\n> second\n> line\n\nNo.\n"
        );
    }

    #[test]
    fn invisible_parts_and_entities() {
        let html = "<!DOCTYPE html><html><head><title>T</title><style>p > a {}</style></head><body>x<!-- y -->\
            <script>if (a < b) {}</script>&amp;&nbsp;&lt;z&gt; &#8217;&bogus; &</body></html>";
        assert_eq!(to_text(html), "x& <z> ’&bogus; &\n");
        assert_eq!(to_text("a < b and c > d"), "a < b and c > d\n");
        assert_eq!(to_text("<a title=\"x > y\" href='z'>link</a>"), "link\n");
        assert_eq!(to_text("<p>it<b's>fine</p>"), "itfine\n");
        assert_eq!(to_text("x <!-- never closed"), "x <!-- never closed\n");
    }
}
