//! `gleaner license scan`, which needs no database, and what the others say without data.

use crate::sandbox::Sandbox;

const MIT: &str = "Copyright (c) 2020 Jane Doe\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n";

#[test]
fn a_local_tree_is_scanned_without_a_store() {
    let home = Sandbox::new();
    home.write("t/LICENSE-MIT", MIT);
    home.write(
        "t/Cargo.toml",
        "[package]\nname = \"foo\"\nversion = \"1.2.0\"\nlicense = \"MIT OR Apache-2.0\"\n",
    );
    home.write("t/src/a.c", "int a;\n");
    home.write("t/.git/LICENSE", MIT);
    let said = home.transcript(&mut home.gleaner(["license", "scan", "t", "--format", "jsonl"]));
    assert_eq!(said.exit, Some(0), "{}", said.stderr);
    let lines: Vec<serde_json::Value> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["path"], "Cargo.toml");
    assert_eq!(lines[0]["spdx"], "MIT OR Apache-2.0");
    assert_eq!(lines[0]["expression"], "mit OR apache-2.0");
    assert_eq!(lines[0]["packages"][0], "pkg:cargo/foo@1.2.0");
    assert_eq!(lines[1]["path"], "LICENSE-MIT");
    assert_eq!(lines[1]["spdx"], "MIT");
    assert_eq!(lines[1]["holders"][0], "Jane Doe");
    assert_eq!(lines[1]["copyrights"][0], "Copyright (c) 2020 Jane Doe");
    assert_eq!(lines[1]["scanner"], "builtin 1");
    assert_eq!(lines[1]["errors"], serde_json::json!([]));
    let all = home.run(["license", "scan", "t", "--all", "--format", "csv"]);
    assert_eq!(all.matches("src/a.c").count(), 1);
    // One file by itself; a broken configuration is no obstacle.
    home.write("gleaner.toml", "nonsense");
    let one = home.run(["license", "scan", "t/LICENSE-MIT", "--format", "jsonl"]);
    assert!(
        one.starts_with("exit: 0") && one.contains("\"path\":\"LICENSE-MIT\""),
        "{one}"
    );
    let missing = home.run(["license", "scan", "nowhere"]);
    assert!(missing.starts_with("exit: 2"), "{missing}");
}

#[test]
fn a_scanner_that_is_not_there_is_told() {
    let home = Sandbox::new();
    home.write("a.c", "int a;\n");
    let said = home.run([
        "license",
        "scan",
        "a.c",
        "--scanner",
        "scancode",
        "--data",
        "d",
    ]);
    assert!(said.starts_with("exit: 5"), "{said}");
    assert!(said.contains("gleaner license setup"), "{said}");
}

#[test]
fn provenant_is_compiled_by_cargo_or_told_why_not() {
    let home = Sandbox::new();
    let setup = ["license", "setup", "--scanner", "provenant", "--data", "d"];
    let mut without = home.gleaner(setup);
    let said = home
        .transcript(without.env("PATH", home.path("nothing")))
        .text();
    assert!(said.starts_with("exit: 5"), "{said}");
    assert!(
        said.contains("cargo is needed") && said.contains("on the PATH"),
        "{said}"
    );

    // A cargo that cannot reach its registry, and says so.
    home.write(
        "bin/cargo",
        "#!/bin/sh\necho \"$@\" >asked\necho 'error: no registry' >&2\nexit 101\n",
    );
    let script = home.path("bin/cargo");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    let mut with = home.gleaner(setup);
    let said = home.transcript(with.env("PATH", path)).text();
    assert!(
        said.starts_with("exit: 5") && said.contains("no registry"),
        "{said}"
    );
    let asked = std::fs::read_to_string(home.path("asked")).unwrap();
    assert!(
        asked.starts_with("install provenant-cli --version 1.0.16 --locked"),
        "{asked}"
    );
}

#[test]
fn a_local_repository_is_scanned_and_shown() {
    let home = Sandbox::new();
    home.write("r/LICENSE", MIT);
    home.write("r/a.c", "// See the LICENSE file for license details.\n");
    for args in [
        &["init", "-q", "-b", "main", "."][..],
        &["add", "-A"],
        &[
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@example.org",
            "commit",
            "-q",
            "-m",
            "x",
        ],
    ] {
        let status = std::process::Command::new("git")
            .args(args)
            .current_dir(home.path("r"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status()
            .unwrap();
        assert!(status.success());
    }
    let added = home.run(["repo", "add", "r", "--data", "d"]);
    assert!(added.starts_with("exit: 0"), "{added}");
    let early = home.run(["license", "show", "r", "--data", "d"]);
    assert!(
        early.starts_with("exit: 1") && early.contains("not scanned yet"),
        "{early}"
    );
    let work = home.run(["work", "--kinds", "license", "--until-idle", "--data", "d"]);
    assert!(work.starts_with("exit: 0"), "{work}");
    let shown = home.run(["license", "show", "r", "--data", "d", "--format", "json"]);
    assert!(shown.contains("\"license\":\"MIT\""), "{shown}");
    assert!(shown.contains("\"scanner\":\"builtin 1\""), "{shown}");
    let files = home.run(["license", "files", "r", "--data", "d", "--format", "jsonl"]);
    assert!(
        files.contains("\"path\":\"a.c\",\"spdx\":\"MIT\""),
        "{files}"
    );
    let again = home.run(["license", "rescan", "--repo", "r", "--data", "d"]);
    assert!(again.starts_with("exit: 0"), "{again}");
    let stats = home.run(["license", "stats", "--data", "d", "--format", "json"]);
    assert!(stats.contains("\"repositories\":1"), "{stats}");
}
