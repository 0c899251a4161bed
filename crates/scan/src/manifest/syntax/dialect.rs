//! What tells the languages apart below the level of grammar.

/// A language of which manifests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::manifest) enum Dialect {
    /// Python of any age, and Starlark.
    Python,
    Ruby,
    Elixir,
    Swift,
    Groovy,
    Kotlin,
    Scala,
    Clojure,
    Lua,
    Nim,
    /// Zig object notation.
    Zig,
    Opam,
    /// Simple declarative language, of D's packages.
    Sdl,
}

impl Dialect {
    pub(super) fn line_comments(self) -> &'static [&'static [u8]] {
        match self {
            Self::Python | Self::Ruby | Self::Elixir | Self::Nim | Self::Opam => &[b"#"],
            Self::Swift | Self::Groovy | Self::Kotlin | Self::Scala | Self::Zig => &[b"//"],
            Self::Clojure => &[b";"],
            Self::Lua => &[b"--"],
            Self::Sdl => &[b"//", b"#", b"--"],
        }
    }

    /// The marks of a block comment.
    pub(super) fn block_comment(self) -> Option<(&'static [u8], &'static [u8])> {
        match self {
            Self::Swift | Self::Groovy | Self::Kotlin | Self::Scala | Self::Sdl => {
                Some((b"/*", b"*/"))
            }
            Self::Nim => Some((b"#[", b"]#")),
            Self::Opam => Some((b"(*", b"*)")),
            _ => None,
        }
    }

    pub(super) fn nests_comments(self) -> bool {
        matches!(
            self,
            Self::Swift | Self::Kotlin | Self::Scala | Self::Nim | Self::Opam
        )
    }

    /// Whether `:name` is one literal.
    pub(super) fn has_atoms(self) -> bool {
        matches!(self, Self::Ruby | Self::Elixir | Self::Clojure)
    }

    /// Whether `/…/` may be a literal where a value is expected.
    pub(super) fn has_slash_literals(self) -> bool {
        matches!(self, Self::Ruby | Self::Groovy)
    }

    /// Whether a line break inside braces still ends a statement.
    pub(super) fn breaks_in_braces(self) -> bool {
        !matches!(
            self,
            Self::Python | Self::Zig | Self::Clojure | Self::Elixir | Self::Opam
        )
    }

    /// Whether a line that starts with a dot continues the one before.
    pub(super) fn dot_continues(self) -> bool {
        matches!(
            self,
            Self::Ruby | Self::Swift | Self::Groovy | Self::Kotlin | Self::Scala
        )
    }

    /// Whether a line that ends with this sign goes on in the next.
    pub(super) fn sign_continues(self, sign: &str) -> bool {
        match sign {
            ":" => self != Self::Python,
            "=" | "," | "+" | "." | "=>" | ":=" | "+=" | "||" | "&&" | "==" | "\\" => true,
            _ => false,
        }
    }

    /// Bytes besides letters, digits and `_` that a word may hold, not as its first.
    pub(super) fn in_word(self, byte: u8) -> bool {
        match self {
            Self::Clojure => b"-./*+!?<>=$&%'|#:".contains(&byte),
            Self::Opam | Self::Sdl => b"-.".contains(&byte),
            Self::Groovy | Self::Kotlin | Self::Scala => byte == b'$',
            _ => false,
        }
    }

    /// Bytes besides letters and `_` that may start a word.
    pub(super) fn starts_word(self, byte: u8) -> bool {
        match self {
            Self::Clojure => b"-*+!?<>=$&%|/.".contains(&byte),
            Self::Ruby => matches!(byte, b'@' | b'$'),
            Self::Groovy | Self::Kotlin | Self::Scala => byte == b'$',
            _ => false,
        }
    }

    /// Whether words may end with `?` or `!`.
    pub(super) fn asks_and_shouts(self) -> bool {
        matches!(self, Self::Ruby | Self::Elixir)
    }
}
