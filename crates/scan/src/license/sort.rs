//! What sort of file it is, before anybody looks for a license in it.

/// The most bytes of a file that is scanned.
pub const MAX_BYTES: usize = 1 << 20;

/// Larger ones are no pointers.
const MOST_POINTER: usize = 1_024;
/// As far as git itself looks for a NUL.
const LOOK_AT: usize = 8_000;

/// What the contents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Something to read.
    Text,
    /// Nothing.
    Empty,
    /// No text.
    Binary,
    /// What Git LFS leaves in the place of a large file.
    LfsPointer,
    /// Over the limit.
    TooLarge,
}

impl Sort {
    /// The word used in output and storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Empty => "empty",
            Self::Binary => "binary",
            Self::LfsPointer => "lfs-pointer",
            Self::TooLarge => "too-large",
        }
    }

    /// A media type, no finer than a look at the bytes tells.
    pub fn mime_type(self) -> &'static str {
        match self {
            Self::Text | Self::LfsPointer => "text/plain",
            Self::Empty => "inode/x-empty",
            Self::Binary | Self::TooLarge => "application/octet-stream",
        }
    }
}

/// Looks at the contents of a file.
pub fn sort(bytes: &[u8]) -> Sort {
    if bytes.is_empty() {
        return Sort::Empty;
    }
    if bytes.len() > MAX_BYTES {
        return Sort::TooLarge;
    }
    if bytes.len() <= MOST_POINTER && bytes.starts_with(b"version https://git-lfs.github.com/spec/")
    {
        return Sort::LfsPointer;
    }
    let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let head = &bytes[..bytes.len().min(LOOK_AT)];
    if !wide && memchr::memchr(0, head).is_some() {
        return Sort::Binary;
    }
    Sort::Text
}

/// Whether the path tells that a program wrote the file.
pub fn is_generated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.ends_with(".min.js")
        || name.ends_with(".min.css")
        || name.strip_suffix(".map").is_some()
        || name.ends_with(".pb.go")
        || name.ends_with("_pb2.py")
        || name.ends_with(".g.cs")
        || name.ends_with(".designer.cs")
        || matches!(
            name.as_str(),
            "package-lock.json" | "yarn.lock" | "pnpm-lock.yaml" | "go.sum"
        )
}

/// Whether the path tells that somebody else's code was copied there.
pub fn is_vendored(path: &str) -> bool {
    crate::manifest::place(path) == crate::manifest::Place::Vendored
}

/// Whether the name says that the file holds a license.
pub fn is_license_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    [
        "license",
        "licence",
        "copying",
        "unlicense",
        "notice",
        "copyright",
    ]
    .iter()
    .any(|word| {
        name.strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']) || rest == "s")
    })
}

/// The language by the ending of the name.
pub fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|(known, _)| *known == ending)
        .map(|(_, language)| *language)
}

const LANGUAGES: &[(&str, &str)] = &[
    ("c", "C"),
    ("h", "C"),
    ("cc", "C++"),
    ("cpp", "C++"),
    ("cxx", "C++"),
    ("hpp", "C++"),
    ("hh", "C++"),
    ("rs", "Rust"),
    ("py", "Python"),
    ("pyx", "Cython"),
    ("js", "JavaScript"),
    ("mjs", "JavaScript"),
    ("ts", "TypeScript"),
    ("tsx", "TypeScript"),
    ("go", "Go"),
    ("java", "Java"),
    ("kt", "Kotlin"),
    ("scala", "Scala"),
    ("rb", "Ruby"),
    ("php", "PHP"),
    ("pl", "Perl"),
    ("pm", "Perl"),
    ("sh", "Bash"),
    ("bash", "Bash"),
    ("cs", "C#"),
    ("fs", "F#"),
    ("swift", "Swift"),
    ("m", "Objective-C"),
    ("hs", "Haskell"),
    ("ml", "OCaml"),
    ("lua", "Lua"),
    ("r", "R"),
    ("jl", "Julia"),
    ("ex", "Elixir"),
    ("exs", "Elixir"),
    ("erl", "Erlang"),
    ("clj", "Clojure"),
    ("dart", "Dart"),
    ("zig", "Zig"),
    ("html", "HTML"),
    ("css", "CSS"),
    ("sql", "SQL"),
    ("vim", "VimL"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_are_told_apart() {
        assert_eq!(sort(b""), Sort::Empty);
        assert_eq!(sort(b"text"), Sort::Text);
        assert_eq!(sort(b"a\0b"), Sort::Binary);
        assert_eq!(sort(b"\xff\xfea\0"), Sort::Text);
        assert_eq!(
            sort(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
            Sort::LfsPointer
        );
        assert_eq!(sort(&vec![b'a'; MAX_BYTES + 1]), Sort::TooLarge);
    }

    #[test]
    fn names_tell() {
        assert!(
            is_license_file("a/LICENSE-MIT")
                && is_license_file("COPYING")
                && is_license_file("Licence.txt")
        );
        assert!(!is_license_file("src/license.rs.in/x") && !is_license_file("licensing_test.go"));
        assert!(is_generated("a/b.min.js") && is_vendored("vendor/x/y.go"));
        assert_eq!(language("a/b.rs"), Some("Rust"));
    }
}
