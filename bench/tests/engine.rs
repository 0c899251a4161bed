//! Tiny sizes of each bench through the binary: they run, check themselves, and say it in the fixed shape.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::process::Command;

use serde_json::Value;

#[test]
fn drain_on_sqlite() {
    let figures = bench(&[
        "engine",
        "--database",
        "sqlite::memory:",
        "--units",
        "300",
        "--batch",
        "50,1",
        "--rounds",
        "1",
    ]);
    for metric in ["enqueue", "drain", "claim_p50", "claim_p99"] {
        assert_eq!(count(&figures, metric), 2, "{metric}");
    }
}

#[test]
fn drain_on_postgres_beside_its_peers() {
    let figures = bench(&[
        "engine",
        "--units",
        "300",
        "--batch",
        "50",
        "--rounds",
        "1",
        "--payload",
    ]);
    for database in ["sqlite", "postgres"] {
        assert!(figures.iter().any(|figure| figure["metric"] == "drain"
            && figure["peer"].is_null()
            && figure["database"] == database));
    }
    for peer in ["pgmq-sql", "pgbench-commit"] {
        assert!(
            figures
                .iter()
                .any(|figure| figure["metric"] == "drain_ratio" && figure["peer"] == peer)
        );
    }
    assert_eq!(count(&figures, "wal"), 1);
    assert_eq!(count(&figures, "file_growth"), 1);
}

#[test]
fn scale() {
    let figures = bench(&[
        "engine-scale",
        "--rows",
        "500",
        "--turns",
        "3",
        "--batch",
        "2",
    ]);
    for metric in [
        "claim_p50_done_ratio",
        "claim_p50_future_ratio",
        "claim_p50_blocked_ratio",
    ] {
        assert_eq!(count(&figures, metric), 2, "{metric}");
    }
}

#[test]
fn fan_in() {
    let figures = bench(&[
        "engine-fanin",
        "--children",
        "400",
        "--batch",
        "50",
        "--rounds",
        "1",
    ]);
    for metric in ["completion_ratio", "parent_done_after_last_child"] {
        assert_eq!(count(&figures, metric), 2, "{metric}");
    }
}

fn count(figures: &[Value], metric: &str) -> usize {
    figures
        .iter()
        .filter(|figure| figure["metric"] == metric)
        .count()
}

/// Runs the binary and checks the shape of every line.
fn bench(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let figures: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for figure in &figures {
        assert_eq!(figure["bench"], arguments[0]);
        assert!(figure["metric"].is_string(), "{figure}");
        assert!(figure["value"].is_f64(), "{figure}");
        assert!(figure["unit"].is_string(), "{figure}");
        assert!(
            ["sqlite", "postgres"].contains(&figure["database"].as_str().unwrap()),
            "{figure}"
        );
        let peer = &figure["peer"];
        assert!(peer.is_null() || peer.is_string(), "{figure}");
    }
    figures
}
