//! What a subject says before its title: replies, list prefixes, patch tags.
//!
//! `Re: [list] [RFC PATCH net-next v3 2/5] title`: any number of reply marks and bracket groups, in
//! any order, lead to the title. All leading groups are read, their words in any order, since
//! people write `PATCH/RFC`, `PATCHv2`, `V2 PATCH`, `v2,19/24`, `PATCH 1 of 3` and some 180 more.

/// Groups beyond these are part of the title.
const MAX_GROUPS: usize = 8;
/// A version or count above this is a year, a bug number or a joke.
const MAX_COUNT: u32 = 9999;
/// What follows is not looked at.
const MAX_SUBJECT: usize = 2000;

/// A subject taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// It begins with `Re:` or one of its translations.
    pub is_reply: bool,
    pub is_forward: bool,
    pub tag: Tag,
    /// Words of the leading groups that are no patch words: list names, trees, `VOTE`.
    pub prefixes: Vec<String>,
    /// Without replies and leading groups, blanks single.
    pub title: String,
}

/// What the leading groups say about patches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub kind: TagKind,
    /// 1 where none is given.
    pub version: u32,
    /// 0 is the cover letter.
    pub number: Option<u32>,
    pub total: Option<u32>,
    pub is_rfc: bool,
    pub is_resend: bool,
}

impl Default for Tag {
    fn default() -> Self {
        Self {
            kind: TagKind::None,
            version: 1,
            number: None,
            total: None,
            is_rfc: false,
            is_resend: false,
        }
    }
}

/// How sure the tag is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TagKind {
    #[default]
    None,
    /// `[RFC]` alone: a patch only if there is a diff.
    Rfc,
    /// `[net v2]`: likewise.
    Versioned,
    /// `[2/5]`, `[net,v2,2/5]`: a series, unless a commit robot counts its parts.
    Numbered,
    /// `[GIT PULL]`, `[PULL 3/5]`.
    Pull,
    /// The word patch is there.
    Patch,
}

impl TagKind {
    /// The word rules match against.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rfc => "rfc",
            Self::Versioned => "versioned",
            Self::Numbered => "numbered",
            Self::Pull => "pull",
            Self::Patch => "patch",
        }
    }
}

/// Takes a subject apart; never fails.
pub fn parse(subject: &str) -> Subject {
    let mut parsed = Subject::default();
    let mut words = TagWords::default();
    let mut rest = subject[..subject.floor_char_boundary(MAX_SUBJECT)].trim_start();
    let mut groups = 0;
    loop {
        if let Some(after) = strip_reply(rest) {
            parsed.is_reply = true;
            rest = after;
        } else if let Some(after) = strip_forward(rest) {
            parsed.is_forward = true;
            rest = after;
        } else if let Some((group, after)) = leading_group(rest).filter(|_| groups < MAX_GROUPS) {
            groups += 1;
            words.read_group(group, &mut parsed.prefixes);
            rest = after;
        } else {
            break;
        }
    }
    if words.kind() < TagKind::Pull {
        read_unbracketed(&mut words, &mut rest);
    }
    parsed.tag = words.tag();
    parsed.title = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    parsed
}

/// The subject without the reply and forward marks it begins with; groups stay.
pub fn topic(subject: &str) -> &str {
    let mut rest = subject.trim();
    while let Some(after) = strip_reply(rest).or_else(|| strip_forward(rest)) {
        rest = after;
    }
    rest
}

/// `PATCH: title`, `[title] [PATCH]` in the middle: only the unmistakable word counts there.
fn read_unbracketed(words: &mut TagWords, rest: &mut &str) {
    let mut ignored = Vec::new();
    if let Some((head, title)) = rest.split_once(": ")
        && head.len() <= 30
        && head
            .split([' ', '/'])
            .any(|word| word.eq_ignore_ascii_case("patch"))
        && head.split([' ', '/']).all(is_tag_word)
    {
        words.read_group(head, &mut ignored);
        *rest = title;
        return;
    }
    let mut from = 0;
    while let Some(open) = rest[from..].find('[') {
        let at = from + open;
        if let Some((group, _)) = leading_group(&rest[at..])
            && group
                .get(..5)
                .is_some_and(|head| head.eq_ignore_ascii_case("patch"))
        {
            words.read_group(group, &mut ignored);
            return;
        }
        from = at + 1;
    }
}

fn is_tag_word(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    matches!(word.as_str(), "patch" | "rfc" | "resend" | "git")
        || read_version(&word).is_some()
        || word.bytes().all(|b| b.is_ascii_digit())
}

#[derive(Default)]
struct TagWords {
    patch: bool,
    pull: bool,
    rfc: bool,
    resend: bool,
    version: Option<u32>,
    counter: Option<(u32, Option<u32>)>,
}

impl TagWords {
    fn read_group(&mut self, group: &str, prefixes: &mut Vec<String>) {
        let spaced = separate_patch_word(group);
        let mut bracketed = false;
        let words: Vec<&str> = spaced
            .split(|c: char| {
                // `(1,2)/3` is one word.
                bracketed = c == '(' || (bracketed && c != ')');
                c.is_whitespace()
                    || (c == ',' && !bracketed)
                    || matches!(c, ';' | '[' | ']' | ':' | '|')
            })
            .filter(|word| !word.is_empty())
            .collect();
        let mut at = 0;
        while at < words.len() {
            at += self.read_words(&words[at..], prefixes);
        }
    }

    /// Reads one or more words and returns how many.
    fn read_words(&mut self, words: &[&str], prefixes: &mut Vec<String>) -> usize {
        let word = words[0].trim_matches(['(', ')', '.', '-', '#']);
        let lower = word.to_ascii_lowercase();
        if let [number, of, total, ..] = words
            && of.eq_ignore_ascii_case("of")
            && let (Some(number), Some(total)) = (small(number), small(total))
        {
            self.counter.get_or_insert((number, Some(total)));
            return 3;
        }
        if let [_, next, ..] = words
            && matches!(
                lower.as_str(),
                "take" | "try" | "version" | "ver" | "rev" | "round"
            )
            && let Some(version) = small(next.trim_matches(['#', ')', '(']))
        {
            self.version.get_or_insert(version);
            return 2;
        }
        if let Some(counter) = read_counter(word) {
            self.counter.get_or_insert(counter);
        } else if let Some(version) = read_version(&lower) {
            self.version.get_or_insert(version);
        } else if lower
            .split(['/', '-', '+', '_'])
            .all(|part| self.read_word(part))
        {
            // All of `RFC/PATCH` was understood.
        } else if !word.is_empty() {
            prefixes.push(word.to_owned());
        }
        1
    }

    fn read_word(&mut self, word: &str) -> bool {
        match word {
            "patch" | "patches" | "patchset" => self.patch = true,
            "pull" | "git" => self.pull = true,
            "request" if self.pull => {}
            "rfc" | "rft" => self.rfc = true,
            "resend" | "resent" | "repost" => self.resend = true,
            _ => {
                let Some(version) = read_version(word) else {
                    return false;
                };
                self.version.get_or_insert(version);
            }
        }
        true
    }

    fn kind(&self) -> TagKind {
        let counted = self
            .counter
            .is_some_and(|(number, total)| total.is_some_and(|total| number <= total && total > 0));
        if self.patch {
            TagKind::Patch
        } else if self.pull {
            TagKind::Pull
        } else if counted {
            TagKind::Numbered
        } else if self.version.is_some() {
            TagKind::Versioned
        } else if self.rfc {
            TagKind::Rfc
        } else {
            TagKind::None
        }
    }

    fn tag(&self) -> Tag {
        let kind = self.kind();
        let counter = self.counter.filter(|_| kind >= TagKind::Numbered);
        Tag {
            kind,
            version: self.version.unwrap_or(1).max(1),
            number: counter.map(|(number, _)| number),
            total: counter.and_then(|(_, total)| total),
            is_rfc: self.rfc,
            is_resend: self.resend,
        }
    }
}

/// `PATCHv3`, `PATCH-v3`, `RFCv2`, `PATCH1/2`: a blank behind the word makes them regular.
fn separate_patch_word(group: &str) -> String {
    let lower = group.to_ascii_lowercase();
    let mut out = String::with_capacity(group.len() + 4);
    let mut from = 0;
    for (at, word) in lower
        .match_indices("patch")
        .chain(lower.match_indices("rfc"))
        .collect::<std::collections::BTreeMap<_, _>>()
    {
        let end = at + word.len();
        let next = lower[end..].trim_start_matches(['-', '_']);
        let glued = next.starts_with('v') && next[1..].starts_with(|c: char| c.is_ascii_digit())
            || lower[end..].starts_with(|c: char| c.is_ascii_digit());
        if glued && end >= from && group.is_char_boundary(end) {
            out.push_str(&group[from..end]);
            out.push(' ');
            from = end;
        }
    }
    out.push_str(&group[from.min(group.len())..]);
    out
}

/// `2/5`, `02/12`, `3/n`, `2.5/6`, `(1,2)/3`.
fn read_counter(word: &str) -> Option<(u32, Option<u32>)> {
    let (number, total) = word.split_once('/')?;
    let number = number.trim_matches(['(', ')', '#']);
    let whole: String = number.chars().take_while(char::is_ascii_digit).collect();
    let regular = number[whole.len()..]
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '?' | 'a'..='d'));
    let number = small(&whole).filter(|_| regular)?;
    let total = total.trim_end_matches(['?', '.', '+']);
    match small(total) {
        Some(total) => Some((number, Some(total))),
        None if matches!(total, "n" | "N" | "m" | "x" | "X" | "") => Some((number, None)),
        None => None,
    }
}

/// `v2`, `v2.1`, `-v3`; the number alone is none.
fn read_version(word: &str) -> Option<u32> {
    let digits = word
        .trim_start_matches(['-', '_'])
        .strip_prefix(['v', 'V'])?;
    let digits = digits.trim_start_matches(['.', '#', '-']);
    let whole = digits.split('.').next().unwrap_or(digits);
    let fraction = &digits[whole.len()..];
    let regular = fraction.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    small(whole).filter(|version| regular && *version < 1000)
}

fn small(digits: &str) -> Option<u32> {
    let plain =
        !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_digit());
    digits
        .parse()
        .ok()
        .filter(|number| plain && *number <= MAX_COUNT)
}

/// `[…]` at the start, nesting allowed, and what follows it.
fn leading_group(text: &str) -> Option<(&str, &str)> {
    if !text.starts_with('[') {
        return None;
    }
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate().take(300) {
        match byte {
            b'[' => depth += 1,
            b']' => {
                depth -= 1;
                if depth == 0 {
                    let after = text[at + 1..].trim_start();
                    let after = after.strip_prefix(": ").unwrap_or(after);
                    return Some((&text[1..at], after.trim_start()));
                }
            }
            _ => {}
        }
    }
    None
}

/// The reply marks of mail programs around the world, counted ones too.
fn strip_reply(text: &str) -> Option<&str> {
    const MARKS: [&str; 16] = [
        "re", "aw", "antw", "sv", "vs", "odp", "rif", "ref", "r", "res", "ynt", "回复", "答复",
        "回覆", "antwort", "відп",
    ];
    strip_mark(text, &MARKS)
}

fn strip_forward(text: &str) -> Option<&str> {
    const MARKS: [&str; 8] = ["fwd", "fw", "wg", "tr", "rv", "i", "转发", "doorst"];
    strip_mark(text, &MARKS)
}

fn strip_mark<'a>(text: &'a str, marks: &[&str]) -> Option<&'a str> {
    let colon = text.find([':', '：']).filter(|at| *at <= 16)?;
    let mut head = text[..colon].trim_end();
    // `Re[2]`, `Re^2`, `Re(2)`, `Re*2`.
    if let Some(counted) = head.strip_suffix(|c: char| c.is_ascii_digit() || matches!(c, ']' | ')'))
    {
        head = counted
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .trim_end_matches(['[', '(', '^', '*']);
    }
    let width = text[colon..].chars().next().map_or(1, char::len_utf8);
    let after = &text[colon + width..];
    let known = marks.iter().any(|mark| head.eq_ignore_ascii_case(mark));
    // One letter is a mark only where a blank follows: `C:\temp` and `R:base` are titles.
    (known && (head.len() > 1 || after.starts_with(' '))).then(|| after.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(subject: &str) -> (TagKind, u32, Option<u32>, Option<u32>) {
        let tag = parse(subject).tag;
        (tag.kind, tag.version, tag.number, tag.total)
    }

    #[test]
    fn patch_tags_of_all_shapes() {
        use TagKind::{None as Nothing, Numbered, Patch, Pull, Rfc, Versioned};
        let cases = [
            ("[PATCH] x", (Patch, 1, None, None)),
            ("[PATCH v3 0/3] x", (Patch, 3, Some(0), Some(3))),
            ("[PATCHv3 1/2] x", (Patch, 3, Some(1), Some(2))),
            ("[PATCH -v2] x", (Patch, 2, None, None)),
            ("[PATCH V2 3/4] x", (Patch, 2, Some(3), Some(4))),
            ("[PATCH v2.1 3/4] x", (Patch, 2, Some(3), Some(4))),
            ("[PATCH 1/2 v4] x", (Patch, 4, Some(1), Some(2))),
            ("[PATCH v6,19/24] x", (Patch, 6, Some(19), Some(24))),
            ("[PATCH 1 of 2] x", (Patch, 1, Some(1), Some(2))),
            ("[PATCH 2.5/6] x", (Patch, 1, Some(2), Some(6))),
            ("[PATCHv2 (1,2)/3] x", (Patch, 2, Some(1), Some(3))),
            ("[PATCH 3/n] x", (Patch, 1, Some(3), None)),
            ("[PATCH take 2] x", (Patch, 2, None, None)),
            ("[RFC PATCH v2 1/4] x", (Patch, 2, Some(1), Some(4))),
            ("[RFC/PATCH] x", (Patch, 1, None, None)),
            ("[PATCH/RFCv2] x", (Patch, 2, None, None)),
            ("[V2 PATCH] x", (Patch, 2, None, None)),
            ("[GSoC][PATCH v2] x", (Patch, 2, None, None)),
            ("[Patch 2/2]: x", (Patch, 1, Some(2), Some(2))),
            ("[net,v2,1/2] x", (Numbered, 2, Some(1), Some(2))),
            ("[1/3] x", (Numbered, 1, Some(1), Some(3))),
            ("[net-next v2] x", (Versioned, 2, None, None)),
            ("[RFC] x", (Rfc, 1, None, None)),
            ("[GIT PULL] x", (Pull, 1, None, None)),
            ("[PULL 0/5] x", (Pull, 1, Some(0), Some(5))),
            ("PATCH: x", (Patch, 1, None, None)),
            ("mod_foo fix [PATCH]", (Patch, 1, None, None)),
            ("[VOTE] x", (Nothing, 1, None, None)),
            ("[2021/05] x", (Nothing, 1, None, None)),
            ("dispatch: x", (Nothing, 1, None, None)),
            (
                "What's cooking in git.git (Jul 2024, #04; Fri, 12)",
                (Nothing, 1, None, None),
            ),
        ];
        for (subject, want) in cases {
            assert_eq!(tag(subject), want, "{subject}");
        }
    }

    #[test]
    fn replies_groups_and_title() {
        let parsed = parse("Re: [users@httpd] RE: [PATCH net-next v2 1/2]  a   title");
        assert!(parsed.is_reply);
        assert_eq!(parsed.title, "a title");
        assert_eq!(parsed.prefixes, ["users@httpd", "net-next"]);
        for subject in [
            "RE: x",
            "Re[2]: x",
            "AW: x",
            "Sv: x",
            "Re : x",
            "回复：x",
            "[list] Re: x",
        ] {
            assert!(parse(subject).is_reply, "{subject}");
        }
        for subject in [
            "Review: x",
            "C: drive",
            "R:base",
            "Release: x",
            "[PATCH] regex",
        ] {
            assert!(!parse(subject).is_reply, "{subject}");
        }
        let forward = parse("Fwd: [VOTE] x");
        assert!(forward.is_forward && !forward.is_reply);
    }
}
