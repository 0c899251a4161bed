//! Help is a tested interface: one snapshot holds that of every command.

use std::fmt::Write as _;

use crate::sandbox::Sandbox;

#[test]
fn every_commands_help() {
    let home = Sandbox::new();
    let mut text = String::new();
    visit(&home, &mut Vec::new(), &mut text);
    insta::assert_snapshot!(text);
}

/// Walks the tree by what the help itself lists under "Commands:".
fn visit(home: &Sandbox, path: &mut Vec<String>, text: &mut String) {
    let mut args = path.clone();
    args.push("--help".into());
    let help = home.transcript(&mut home.gleaner(&args));
    assert_eq!((help.exit, help.stderr.as_str()), (Some(0), ""));
    let name = path.join(" ");
    writeln!(text, "===== gleaner {name}\n{}", help.stdout).unwrap();
    let commands = help.stdout.lines().skip_while(|line| *line != "Commands:");
    let commands = commands.skip(1).take_while(|line| line.starts_with("  "));
    let names: Vec<String> = commands
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    for name in names {
        path.push(name);
        visit(home, path, text);
        path.pop();
    }
}

#[test]
fn topics() {
    let home = Sandbox::new();
    insta::assert_snapshot!("exit_codes", home.run(["help", "exit-codes"]));
    insta::assert_snapshot!("errors", home.run(["help", "errors"]));
    insta::assert_snapshot!("environment", home.run(["help", "environment"]));
    insta::assert_snapshot!("one_error", home.run(["help", "e-db-unreachable"]));
    insta::assert_snapshot!("no_such_topic", home.run(["help", "colours"]));
    let long = home.run(["help", "repo", "add"]);
    assert!(
        long.contains("gleaner repo add https://github.com/owner/name"),
        "{long}"
    );
}

#[test]
fn slips_are_met_with_suggestions() {
    let home = Sandbox::new();
    insta::assert_snapshot!("no_such_command", home.run(["repos", "list"]));
    insta::assert_snapshot!("no_such_action", home.run(["unit", "lst"]));
    insta::assert_snapshot!(
        "no_such_flag",
        home.run(["unit", "list", "--stat", "parked"])
    );
    insta::assert_snapshot!("no_command", home.run::<&str>([]));
}

#[test]
fn completions_and_manual_pages_are_made_from_the_tree() {
    let home = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.transcript(&mut home.gleaner(["completions", shell]));
        assert_eq!(script.exit, Some(0));
        assert!(script.stdout.contains("upstream"), "{shell}");
    }
    let page = home.transcript(&mut home.gleaner(["man", "unit", "retry"]));
    assert_eq!(page.exit, Some(0));
    assert!(page.stdout.contains(".TH") && page.stdout.contains("dry"));
}
