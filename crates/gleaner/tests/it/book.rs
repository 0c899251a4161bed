//! The book tells the truth, where that can be looked up.

use db::{sql, testing::TestDb};
use facts::distribution::Grade;

use crate::sandbox::Sandbox;

const OVERVIEW: &str = include_str!("../../../../book/src/distribution/overview.md");
const GRADES: &str = include_str!("../../../../book/src/distribution/grades.md");
const TABLES: &str = include_str!("../../../../book/src/distribution/tables.md");
const SETTINGS: &str = include_str!("../../../../book/src/distribution/settings.md");
const RECHECK: &str = include_str!("../../../../book/src/distribution/recheck.md");
const COMMANDS: &str = include_str!("../../../../book/src/distribution/commands.md");
const GO_OVERVIEW: &str = include_str!("../../../../book/src/goindex/overview.md");
const GO_SETTINGS: &str = include_str!("../../../../book/src/goindex/settings.md");
const SUMMARY: &str = include_str!("../../../../book/src/SUMMARY.md");

#[test]
fn every_setting_of_the_round_stands_in_the_book_with_its_default() {
    let home = Sandbox::new();
    let example = home.run(["config", "example"]);
    let mut section = "";
    let mut found = 0;
    for line in example.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        }
        let setting = line.strip_prefix('#').filter(|_| section == "distribution");
        let Some((key, value)) = setting.and_then(|setting| setting.split_once(" = ")) else {
            continue;
        };
        if key.starts_with(' ') {
            continue;
        }
        found += 1;
        let has_default = !matches!(key, "polite_address" | "user_agent");
        let row = if has_default {
            format!("| `{key}` | `{value}` |")
        } else {
            format!("| `{key}` | none |")
        };
        assert!(SETTINGS.contains(&row), "the book lacks {row}");
    }
    assert_eq!(found, 8);
    for pool in home.run(["pool", "list", "--format", "csv"]).lines() {
        let pool = pool.split(',').next().unwrap_or_default();
        if pool.starts_with("distribution") {
            assert!(SETTINGS.contains(&format!("`{pool}`")), "{pool}");
        }
    }
}

#[test]
fn every_setting_and_kind_of_the_go_index_stands_in_the_book() {
    let home = Sandbox::new();
    let example = home.run(["config", "example"]);
    let (_, section) = example.split_once("[goindex]").unwrap();
    let section = section.split("\n[").next().unwrap();
    let mut found = 0;
    for line in section.lines() {
        let setting = line.strip_prefix('#').filter(|line| !line.starts_with(' '));
        let Some((key, value)) = setting.and_then(|setting| setting.split_once(" = ")) else {
            continue;
        };
        found += 1;
        let row = match key {
            "from" | "hook_secret_files" => format!("| `{key}` | none |"),
            _ => format!("| `{key}` | `{value}` |"),
        };
        assert!(GO_SETTINGS.contains(&row), "the book lacks {row}");
    }
    assert_eq!(found, 8);
    for kind in ["list", "tags", "vanity", "publish"] {
        assert!(GO_OVERVIEW.contains(&format!("| `goindex/{kind}` |")));
    }
}

#[tokio::test]
async fn every_view_and_column_stands_in_the_book() {
    let db = TestDb::sqlite(&[engine::PART, store::PART]).await;
    let rows = db
        .fetch_all(sql!(
            "SELECT m.name AS place, c.name AS name FROM sqlite_master m, pragma_table_xinfo(m.name) c
             WHERE m.type = 'view' AND (m.name = 'repos' OR m.name LIKE 'repo_distribution%')"
        ))
        .await
        .unwrap();
    assert!(rows.len() > 60, "{}", rows.len());
    for row in &rows {
        let (view, column): (String, String) =
            (row.get("place").unwrap(), row.get("name").unwrap());
        // Histories stand beside what they are the history of.
        let words = [format!("`{view}`"), format!("`{column}`")];
        let paragraph = TABLES
            .split("\n\n")
            .find(|text| words.iter().all(|word| text.contains(word)));
        assert!(paragraph.is_some(), "the book lacks {view}.{column}");
    }
}

#[test]
fn every_grade_source_and_kind_stands_in_the_book() {
    for grade in Grade::ALL {
        assert!(GRADES.contains(&format!("| `{}` |", grade.as_str())));
    }
    for source in ["depsdev", "ecosystems", "releases", "packages", "manifests"] {
        assert!(OVERVIEW.contains(&format!("| `{source}` | `distribution/{source}` |")));
        assert!(RECHECK.contains(&format!("`{source}`")));
    }
    for derived in ["names", "pairing"] {
        assert!(OVERVIEW.contains(&format!("`distribution/{derived}`")));
    }
}

#[test]
fn every_command_of_the_book_is_one() {
    let home = Sandbox::new();
    let mut count = 0;
    for page in [OVERVIEW, GRADES, TABLES, SETTINGS, RECHECK, COMMANDS] {
        for line in page
            .lines()
            .filter_map(|line| line.strip_prefix("$ gleaner "))
        {
            let words = line.split_whitespace().chain(["--help"]);
            let said = home.run(words);
            assert!(said.starts_with("exit: 0"), "gleaner {line}: {said}");
            count += 1;
        }
        assert!(!page.contains("@@"), "a listing is missing");
    }
    assert!(count >= 6, "{count}");
}

#[test]
fn every_page_is_in_the_summary() {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/distribution");
    for page in std::fs::read_dir(pages).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        assert!(
            SUMMARY.contains(&format!("(distribution/{name})")),
            "{name}"
        );
    }
}
