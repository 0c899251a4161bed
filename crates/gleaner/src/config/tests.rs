use std::{path::Path, time::Duration};

use super::*;

fn config(text: &str, overrides: Overrides) -> Result<Config> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gleaner.toml");
    std::fs::write(&path, text).unwrap();
    Config::load(&Overrides {
        file: Some(path),
        ..overrides
    })
}

fn complaint(text: &str) -> String {
    let read = file::read(Path::new("gleaner.toml"), text, &file::Rules::product());
    anstream::adapter::strip_str(&read.unwrap_err().render()).to_string()
}

#[test]
fn every_default_parses_and_is_handed_on() {
    for section in SECTIONS {
        for key in section.keys {
            assert!(
                key.kind.parse(key.example).is_ok(),
                "{}.{}",
                section.name,
                key.name
            );
        }
    }
    let settings = config("", Overrides::default()).unwrap().settings();
    assert_eq!(settings.server.listen.to_string(), "127.0.0.1:8787");
    assert_eq!(settings.database.max_connections, 16);
    assert_eq!(settings.database.timeout, Duration::from_secs(10));
    assert!(settings.database.statement_cache && !settings.database.sync_every_commit);
    assert_eq!(settings.database.min_free, 500 << 20);
    assert_eq!(settings.work.shutdown_grace, Duration::from_secs(30));
    assert_eq!(settings.work.keep_done, Duration::from_hours(30 * 24));
    assert!(settings.work.immediate_partial_retry);
    assert_eq!(settings.rounds.len(), 8);
    for (name, round) in &settings.rounds {
        assert!(round.enabled && round.workers > 0, "{name}");
        assert!(round.cadence.is_none() && round.max_run.is_none(), "{name}");
        let pool = name.replace('_', "-");
        assert_eq!(settings.pools[&pool].workers, Some(round.workers));
    }
}

/// Changing any key changes what the program is told: no setting is read and then forgotten.
#[test]
fn every_setting_reaches_the_program() {
    let before = config("", Overrides::default()).unwrap().settings();
    for section in SECTIONS {
        for key in section.keys {
            let other = [
                "true",
                "false",
                "7",
                "77s",
                "7MiB",
                "0.0.0.0:1",
                "sqlite:x",
                "http://h",
                "a@b.example",
                "full",
                "all",
            ]
            .into_iter()
            .filter_map(|text| key.kind.parse(text).ok())
            .find(|value| Some(value) != key.default_value().as_ref())
            .unwrap();
            let place = match section.example_name {
                Some(name) => format!("{}.{}", section.name, value::bare_or_quoted(name)),
                None => section.name.to_owned(),
            };
            let text = format!("[{place}]\n{} = {other}\n", key.name);
            let after = config(&text, Overrides::default()).unwrap().settings();
            assert_ne!(before, after, "{text}");
        }
    }
}

#[test]
fn the_example_is_complete_and_says_what_holds() {
    let text = example();
    let plain = config(&text, Overrides::default()).unwrap();
    let defaults = config("", Overrides::default()).unwrap();
    assert_eq!(plain.settings(), defaults.settings());

    // With every setting switched on it still reads, and only what has no default differs.
    let full = config(&switched_on(&text), Overrides::default()).unwrap();
    assert!(full.entries.iter().all(|entry| entry.value.is_some()));
    let (mut full, defaults) = (full.settings(), defaults.settings());
    full.database.url = None;
    full.upstreams.clear();
    full.distribution.polite_address = None;
    full.distribution.user_agent = None;
    full.goindex.hook_secret_files.clear();
    full.goindex.from.clear();
    full.goindex.listing_cadence = None;
    full.license.home.clone_from(&defaults.license.home);
    full.license.home_is_set = false;
    full.mail.polite_address = None;
    full.mail.rules.clear();
    full.pypi.index_url = None;
    full.pypi.allow.clear();
    full.pypi.deny.clear();
    full.objects.clone_from(&defaults.objects);
    for round in full.rounds.values_mut() {
        (round.cadence, round.max_run) = (None, None);
    }
    assert_eq!(full, defaults);
}

/// The example with no setting commented out.
fn switched_on(example: &str) -> String {
    let is_setting = |line: &str| line.starts_with('#') && !line.starts_with("# ") && line != "#";
    example
        .lines()
        .map(|line| if is_setting(line) { &line[1..] } else { line })
        .flat_map(|line| [line, "\n"])
        .collect()
}

#[test]
fn flags_win_over_the_environment_over_the_file() {
    let file = "[server]\nlisten = \"127.0.0.1:1\"\n";
    let listen = |overrides: Overrides| {
        let config = config(file, overrides).unwrap();
        let entry = config
            .entries
            .iter()
            .find(|e| e.address.key.name == "listen");
        let origin = entry.unwrap().origin.to_string();
        let origin = origin.rsplit('/').next().unwrap().to_owned();
        (config.settings().server.listen.port(), origin)
    };
    let environment = vec![("GLEANER_SERVER_LISTEN".to_owned(), "127.0.0.1:2".to_owned())];
    let flags = vec![("server", "listen", "--listen", "127.0.0.1:3".to_owned())];
    assert_eq!(
        listen(Overrides::default()),
        (1, "gleaner.toml:2".to_owned())
    );
    assert_eq!(
        listen(Overrides {
            environment: environment.clone(),
            ..Overrides::default()
        }),
        (2, "environment GLEANER_SERVER_LISTEN".to_owned())
    );
    assert_eq!(
        listen(Overrides {
            flags,
            environment,
            ..Overrides::default()
        }),
        (3, "flag --listen".to_owned())
    );
}

#[test]
fn complaints_show_the_line_and_what_was_meant() {
    insta::assert_snapshot!(complaint(
        "[distribution]\nworkerz = 4\n[upstream.github.com]\nbase_url = \"x\"\n"
    ));
    insta::assert_snapshot!(complaint(
        "listen = 1\n[licence]\n[objects]\nurl = 1\n[pool]\nworkers = 1\n"
    ));
    insta::assert_snapshot!(complaint(
        "[distribution]\nworkers = 0\ncadence = 180\nmax_run = \"soon\"\n[pool.mail]\nworkers = 0\n[database]\nmin_free = 5\n"
    ));
    insta::assert_snapshot!(complaint("[server]\nlisten = \"a\nb\"\n"));
}

#[test]
fn a_replaced_key_warns_for_two_minor_versions_and_is_then_refused() {
    const OLD: &[Deprecated] = &[Deprecated {
        old: "server.bind",
        replacement: ("server", "listen"),
        warned_since: (0, 4),
    }];
    let read = |version, text: &str| {
        let rules = file::Rules {
            deprecated: OLD,
            version,
        };
        file::read(Path::new("gleaner.toml"), text, &rules)
    };
    let text = "[server]\nbind = \"127.0.0.1:9\"\n";
    for version in [(0, 4), (0, 5)] {
        let read = read(version, text).unwrap();
        assert_eq!(
            read.warnings,
            [
                "gleaner.toml:2: use `listen` under `[server]` instead of `server.bind`; version 0.6 will refuse it"
            ]
        );
        assert_eq!(read.entries[0].address.to_string(), "server.listen");
    }
    for version in [(0, 6), (1, 0)] {
        let refusal = read(version, text).unwrap_err();
        insta::allow_duplicates! {
            insta::assert_snapshot!(anstream::adapter::strip_str(&refusal.render()));
        }
    }
    let both = format!("{text}listen = \"127.0.0.1:10\"\n");
    assert!(read((0, 4), &both).is_err());
}

/// Whatever the file holds, the answer is settings or a complaint.
#[test]
fn no_file_makes_it_panic() {
    let good = switched_on(&example());
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    };
    let pieces = [
        "[", "]", "\"", "=", "#", "\n", ".", "é", "0", "[[", "'''", "\u{0}", "{",
    ];
    for _ in 0..500 {
        let mut text = good.clone();
        for _ in 0..=random(4) {
            let mut at = random(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.insert_str(at, pieces[random(pieces.len())]);
        }
        if let Err(failure) = file::read(Path::new("x"), &text, &file::Rules::product()) {
            assert!(!failure.render().is_empty());
        }
    }
}
