//! The benches of manifests and of the distribution round through the binary, at a small size. What
//! does not depend on the machine is held: how many calls there are, and that nothing is made up.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::process::Command;

use serde_json::Value;

#[test]
fn manifests() {
    let figures = bench(&["manifests", "--seconds", "0.05", "--rounds", "2"]);
    let slowest = only(&figures, "slowest_format", None, None);
    for (metric, unit) in [("parse", "files/s/core"), ("bytes", "MB/s")] {
        let figure = figures.iter().find(|one| one["metric"] == metric).unwrap();
        assert_eq!(
            (&figure["unit"], &figure["database"]),
            (&unit.into(), &Value::Null)
        );
        assert!(figure["value"].as_f64().unwrap() > 0.0, "{figure}");
    }
    let formats = figures.iter().filter(|one| one["metric"] == "format");
    let rates: Vec<f64> = formats.map(|one| one["value"].as_f64().unwrap()).collect();
    assert!(rates.len() > 10 && rates.iter().all(|rate| *rate >= slowest));
}

#[test]
fn an_unchanged_repository_costs_licenses_one_listing() {
    let figures = bench(&["license", "--files", "120", "--provenant", "none"]);
    let of = Some("builtin");
    for metric in ["first_scan", "rescan", "unchanged"] {
        assert!(only(&figures, metric, None, of) >= 0.0);
    }
    assert!(only(&figures, "unchanged_ref_listings", None, of) <= 1.0);
    assert!(only(&figures, "unchanged_fetches", None, of) <= 0.0);
}

#[test]
fn heavy_distribution_asks_little() {
    let small = ["--repositories", "120", "--latency-ms", "0", "--speed", "1"];
    let mut arguments = vec!["distribution"];
    arguments.extend(small);
    let figures = bench(&arguments);
    let first = only(&figures, "forge_calls", Some("first"), Some("all"));
    let second = only(&figures, "forge_calls", Some("second"), Some("all"));
    println!("{first} forge calls for each repository, then {second}");
    assert!(first <= 6.0 && second <= 3.0, "{first}, {second}");
    for forge in ["github.com", "github.example.org", "codeberg.org"] {
        for pass in ["first", "second"] {
            let most = only(&figures, "most_package_calls", Some(pass), Some(forge));
            assert!(most <= 6.0, "{pass} {forge}: {most}");
        }
    }
    let packages = only(&figures, "package_calls", Some("first"), Some("all"));
    assert!(packages <= 6.0, "{packages}");
    let by_token = only(&figures, "rate_by_token", Some("first"), Some("github.com"));
    assert!(by_token >= 800.0, "{by_token}");
}

fn only(figures: &[Value], metric: &str, pass: Option<&str>, of: Option<&str>) -> f64 {
    let is = |one: &Value, field: &str, wanted: Option<&str>| {
        wanted.is_none_or(|wanted| one[field] == wanted)
    };
    let mut fits = figures
        .iter()
        .filter(|one| one["metric"] == metric && is(one, "pass", pass) && is(one, "of", of));
    let found = fits
        .next()
        .unwrap_or_else(|| panic!("no {metric} of {of:?}"));
    assert!(fits.next().is_none(), "several {metric} of {of:?}");
    found["value"].as_f64().unwrap()
}

fn bench(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(arguments)
        // Minutes of CPU, which its own bench is for.
        .env_remove("GLEANER_SCANCODE")
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
        assert!(
            figure["metric"].is_string() && figure["unit"].is_string(),
            "{figure}"
        );
        assert!(
            figure["value"].is_f64() && figure.get("peer").is_some(),
            "{figure}"
        );
    }
    figures
}
