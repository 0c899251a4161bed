//! Files under the real ScanCode, and kill -9 of `gleaner`, of the scanner and of both: no process
//! stays behind, no answer is lost, and the result is the one that an undisturbed run has.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::license_home::{Home, Killed, scancode};

const REPOSITORIES: usize = 3;
const FILES: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Victim {
    Gleaner,
    Scanner,
    Both,
}

#[tokio::test]
async fn heavy_batches_survive_kills() {
    let Some(venv) = scancode() else {
        return;
    };
    let is_long = std::env::var_os("GLEANER_LONG").is_some();
    let rounds = if is_long { 10 } else { 1 };
    let home = Home::new(&venv, "files").await;
    let mut repositories = Vec::new();
    let mut tagged = Vec::new();
    for number in 0..REPOSITORIES {
        tagged.clear();
        for file in 0..FILES {
            let text = format!(
                "/* Copyright 20{number}{file} Example Corp.\n * SPDX-License-Identifier: MIT */\n"
            );
            tagged.push((format!("src/f{file}.c"), text));
        }
        // Enough to be struck in the middle of it.
        let words = "static int value_of(int number) { return number + 1; }\n";
        let text = &mut tagged[0].1;
        text.push_str(&words.repeat(400));
        text.push_str(&number.to_string());
        let files: Vec<(&str, &str)> = tagged
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        repositories.push(home.add(&format!("r{number}"), &files).await);
    }

    // Another course each time in a long run, which says what it was.
    let mut dice = if is_long {
        u64::from(std::process::id())
    } else {
        20_261_116
    };
    eprintln!("dice {dice}");
    let mut work = home.work(1);
    for round in 0..rounds {
        for victim in [Victim::Scanner, Victim::Gleaner, Victim::Both] {
            home.until("a scanner runs", async || !home.scanners().is_empty())
                .await;
            if matches!(victim, Victim::Scanner) && round == 0 {
                home.until("it scans", async || {
                    home.log().contains("license scan started")
                })
                .await;
            }
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // While it reads its index, while it scans, or after.
            let most = if matches!(victim, Victim::Scanner) {
                500
            } else {
                9_000
            };
            let wait = Duration::from_millis((dice >> 33) % most);
            tokio::time::sleep(wait).await;
            strike(&home, victim, &mut work).await;
            eprintln!("round {round}: {victim:?} after {wait:?}");
        }
    }
    home.until("every repository has its result", async || {
        for repository in &repositories {
            if home.result(*repository).await.is_none() {
                return false;
            }
        }
        true
    })
    .await;
    for repository in &repositories {
        let result = home.result(*repository).await.unwrap();
        assert_eq!((result.1, result.2), (FILES as i64, 0), "{}", home.log());
    }
    let answers = "SELECT count(*) AS n FROM license_answer WHERE spdx = 'MIT' AND state = 'found'";
    let expected = (REPOSITORIES * FILES) as i64;
    assert_eq!(home.number(answers).await, expected);
    let all = "SELECT count(*) AS n FROM license_answer";
    assert_eq!(home.number(all).await, expected, "nothing twice");
    let files = "SELECT count(*) AS n FROM scancode_file_results
        WHERE detected_license_expression_spdx = 'MIT' AND holders LIKE '%Example Corp.%'";
    assert_eq!(home.number(files).await, expected);
    work.kill();
    home.until("no scanner outlives it", async || {
        home.scanners().is_empty()
    })
    .await;
}

async fn strike(home: &Home, victim: Victim, work: &mut Killed) {
    let scanners = home.scanners();
    if matches!(victim, Victim::Gleaner | Victim::Both) {
        work.kill();
    }
    if matches!(victim, Victim::Scanner | Victim::Both) {
        for pid in scanners {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
    if !matches!(victim, Victim::Scanner) {
        home.until("the scanner goes with it", async || {
            home.scanners().is_empty()
        })
        .await;
        *work = home.work(1);
    }
}
