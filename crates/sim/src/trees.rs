//! Source trees with manifests, as projects really lay them out.

use crate::dice::Dice;

/// One repository's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTree {
    /// What the repository is called.
    pub name: String,
    /// Paths and contents, sorted by path.
    pub files: Vec<(String, String)>,
}

/// `count` trees of the world with this seed. The same seed gives the same
/// trees, and a larger count begins with the smaller one's.
pub fn source_trees(seed: u64, count: usize) -> Vec<SourceTree> {
    (0..count)
        .map(|index| {
            tree(
                &mut Dice(seed ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                index,
            )
        })
        .collect()
}

const FIRST: [&str; 12] = [
    "amber", "birch", "cedar", "delta", "ember", "fern", "granite", "harbor", "iris", "juniper",
    "kestrel", "larch",
];
const SECOND: [&str; 10] = [
    "parser", "queue", "client", "router", "cache", "schema", "toolkit", "logger", "index",
    "bridge",
];

fn tree(dice: &mut Dice, index: usize) -> SourceTree {
    let name = format!("{}-{}", dice.pick(&FIRST), dice.pick(&SECOND));
    let mut files = vec![("README.md".to_owned(), format!("# {name}\n"))];
    match dice.below(4) {
        0 => cargo_workspace(dice, &name, &mut files),
        1 => npm_package(dice, &name, &mut files),
        2 => both(dice, &name, &mut files),
        _ => files.push(("Makefile".to_owned(), "all:\n\t@true\n".to_owned())),
    }
    files.sort();
    SourceTree {
        name: format!("{name}-{index}"),
        files,
    }
}

fn cargo_workspace(dice: &mut Dice, name: &str, files: &mut Vec<(String, String)>) {
    let members = 1 + dice.below(3);
    files.push((
        "Cargo.toml".to_owned(),
        "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n".to_owned(),
    ));
    for member in 0..members {
        let private = dice.below(3) == 0;
        let publish = if private { "publish = false\n" } else { "" };
        files.push((
            format!("crates/part-{member}/Cargo.toml"),
            format!(
                "[package]\nname = \"{name}-part-{member}\"\nversion = \"{}\"\nedition = \"2024\"\n{publish}",
                dice.version()
            ),
        ));
        files.push((format!("crates/part-{member}/src/lib.rs"), String::new()));
    }
}

fn npm_package(dice: &mut Dice, name: &str, files: &mut Vec<(String, String)>) {
    let private = if dice.below(3) == 0 {
        ",\n  \"private\": true"
    } else {
        ""
    };
    let scope = if dice.below(2) == 0 { "@glade/" } else { "" };
    files.push((
        "package.json".to_owned(),
        format!(
            "{{\n  \"name\": \"{scope}{name}\",\n  \"version\": \"{}\"{private}\n}}\n",
            dice.version()
        ),
    ));
    files.push(("index.js".to_owned(), "module.exports = {};\n".to_owned()));
}

fn both(dice: &mut Dice, name: &str, files: &mut Vec<(String, String)>) {
    npm_package(dice, name, files);
    files.push((
        "native/Cargo.toml".to_owned(),
        format!(
            "[package]\nname = \"{name}\"\nversion = \"{}\"\nedition = \"2021\"\n",
            dice.version()
        ),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_world() {
        assert_eq!(source_trees(7, 20), source_trees(7, 20));
        assert_eq!(source_trees(7, 20)[..5], source_trees(7, 5)[..]);
        assert_ne!(source_trees(7, 5), source_trees(8, 5));
    }

    #[test]
    fn the_world_holds_every_sort_of_tree() {
        let trees = source_trees(1, 40);
        let has = |path: &str| {
            trees
                .iter()
                .any(|tree| tree.files.iter().any(|(name, _)| name == path))
        };
        assert!(
            has("package.json") && has("Cargo.toml") && has("native/Cargo.toml") && has("Makefile")
        );
    }
}
