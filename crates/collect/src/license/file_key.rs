//! How much of a file's name can change what a scanner says of its contents.

/// The name, where a package parser might look at it; for plain source code only its ending.
///
/// The list is of what is surely source code: a name too many costs a second scan of the same
/// contents, one too few would give a file the answer of another.
pub fn name_class(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    if let Some((stem, ending)) = name.rsplit_once('.') {
        let lower = ending.to_ascii_lowercase();
        let special = matches!(
            name,
            "setup.py"
                | "conanfile.py"
                | "build.rs"
                | "metadata.rb"
                | "Package.swift"
                | "build.sbt"
                | "mix.exs"
                | "recipe.rb"
                | "project.clj"
        );
        if !stem.is_empty() && !special && SOURCES.contains(&lower.as_str()) {
            return format!("*.{lower}");
        }
    }
    name.to_owned()
}

const SOURCES: &[&str] = &[
    "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "inl", "s", "asm", "rs", "py", "pyi", "pyx",
    "js", "mjs", "cjs", "jsx", "ts", "tsx", "vue", "go", "java", "kt", "scala", "groovy", "rb",
    "php", "pl", "pm", "t", "sh", "bash", "cs", "fs", "vb", "swift", "m", "mm", "hs", "ml", "mli",
    "lua", "r", "jl", "ex", "erl", "hrl", "clj", "cljs", "dart", "zig", "nim", "d", "f", "f90",
    "css", "scss", "less", "sass", "html", "htm", "tmpl", "svg", "po", "pot", "sql", "proto",
    "png", "jpg", "jpeg", "gif", "ico", "woff", "woff2", "ttf", "eot", "pdf", "snap",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_code_is_the_same_under_any_name() {
        for (path, class) in [
            ("a/b/main.rs", "*.rs"),
            ("x/Other.C", "*.c"),
            ("setup.py", "setup.py"),
            ("a/package.json", "package.json"),
            ("LICENSE", "LICENSE"),
            ("requirements-dev.txt", "requirements-dev.txt"),
            (".rs", ".rs"),
        ] {
            assert_eq!(name_class(path), class);
        }
    }
}
