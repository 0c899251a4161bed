//! Files under the real ScanCode, and kill -9 of `gleaner`, of the scanner and of both: no process
//! stays behind, no answer is lost, and the result is the one that an undisturbed run has.

use std::{process::Child, time::Duration};

use rustix::process::{Pid, Signal, kill_process};

use super::license_home::{Home, kill, scancode};

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
        let files: Vec<(&str, &str)> = tagged
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        repositories.push(home.add(&format!("r{number}"), &files).await);
    }

    let mut dice = 20_261_116_u64;
    let mut work = home.work(1);
    for round in 0..rounds {
        for victim in [Victim::Scanner, Victim::Gleaner, Victim::Both] {
            home.until("a scanner runs", async || !home.scanners().is_empty())
                .await;
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // While it reads its index, while it scans, or after.
            let wait = Duration::from_millis((dice >> 33) % 9_000);
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
    kill(&mut work);
    home.until("no scanner outlives it", async || home.scanners().is_empty())
        .await;
}

async fn strike(home: &Home, victim: Victim, work: &mut Child) {
    let scanners = home.scanners();
    if matches!(victim, Victim::Gleaner | Victim::Both) {
        kill(work);
    }
    if matches!(victim, Victim::Scanner | Victim::Both) {
        for pid in scanners {
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
    if !matches!(victim, Victim::Scanner) {
        home.until("the scanner goes with it", async || home.scanners().is_empty())
            .await;
        *work = home.work(1);
    }
}
