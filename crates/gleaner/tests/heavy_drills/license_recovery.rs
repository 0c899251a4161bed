//! Whole trees under the real ScanCode, and a `gleaner` that is killed meanwhile.
//!
//! | left behind | what becomes of it |
//! |---|---|
//! | a scanner that still runs | adopted: nobody starts another |
//! | one that has finished | its output is taken up |
//! | one that died | the unit runs again |
//! | one of before a reboot, whose pid is somebody else's now | the unit runs again, nobody is harmed |
//! | one that died, whose pid is somebody else's in the same boot | the same |
//! | one with an output that is cut off | not believed: the unit runs again |

use std::process::{Command, Stdio};

use db::sql;
use rustix::process::{Pid, Signal, kill_process_group};

use super::license_home::{Home, Killed, scancode};

const CASES: [&str; 6] = ["running", "finished", "lost", "reboot", "reused", "cut-off"];

#[tokio::test]
async fn heavy_whole_trees_survive_a_kill() {
    let Some(venv) = scancode() else {
        return;
    };
    let home = Home::new(&venv, "whole-tree").await;
    let mut repositories = Vec::new();
    for case in CASES {
        let text = format!("/* {case}\n * SPDX-License-Identifier: MIT */\n");
        repositories.push(home.add(case, &[("a.c", &text), ("LICENSE", MIT)]).await);
    }

    let mut first = home.work(CASES.len());
    home.until("six scanners run", async || {
        let recorded = "SELECT count(*) AS n FROM subprocess WHERE pid IS NOT NULL";
        home.number(recorded).await == 6
    })
    .await;
    first.kill();
    let left: Vec<Left> = {
        let mut left = Vec::new();
        for repository in &repositories {
            left.push(Left::of(&home, *repository).await);
        }
        left
    };
    // The first stands still until it is adopted, the second goes on, the others die.
    left[0].signal(Signal::STOP);
    for one in &left[2..] {
        one.signal(Signal::KILL);
    }
    let mut strangers: Vec<Killed> = Vec::new();
    for one in &left[3..5] {
        let stranger = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .spawn();
        let stranger = Killed(stranger.unwrap());
        let pid = i64::from(stranger.0.id());
        let lie = sql!(
            "UPDATE subprocess SET pid = $2 WHERE unit = $1",
            one.unit,
            pid
        );
        home.db.execute(lie).await.unwrap();
        strangers.push(stranger);
    }
    let reboot = sql!(
        "UPDATE subprocess SET boot = 'another' WHERE unit = $1",
        left[3].unit
    );
    home.db.execute(reboot).await.unwrap();
    let cut = r#"{"headers": [{"end_timestamp": "2026-11-16T"}], "files": [{"path": "a."#;
    left[5].write("output", cut);
    left[5].write("status", "0\n");
    home.until("the second scanner has finished", async || {
        left[1].has("status")
    })
    .await;

    let mut second = home.work(2);
    home.until("the first scanner is adopted", async || {
        home.log().contains("adopting a running scanner")
    })
    .await;
    left[0].signal(Signal::CONT);
    home.until("every repository has its result", async || {
        for repository in &repositories {
            if home.result(*repository).await.is_none() {
                return false;
            }
        }
        true
    })
    .await;
    home.until("nothing is left of any scanner", async || {
        home.number("SELECT count(*) AS n FROM subprocess").await == 0 && home.trees() == 0
    })
    .await;
    for (case, repository) in CASES.iter().zip(&repositories) {
        let result = home.result(*repository).await;
        assert_eq!(result, Some(("MIT".to_owned(), 2, 0)), "{case}");
    }
    let log = home.log();
    let count = |text: &str| log.matches(text).count();
    // Adopted and taken up, not started again; the four others were.
    assert_eq!(
        count("the scanner runs over the whole tree"),
        6 + 4,
        "{log}"
    );
    assert_eq!(count("adopting a running scanner"), 1, "{log}");
    assert!(count("taking up a finished output") >= 1, "{log}");
    for stranger in &mut strangers {
        assert!(
            stranger.0.try_wait().unwrap().is_none(),
            "a stranger was harmed"
        );
    }
    second.kill();
    home.until("no scanner outlives it", async || {
        home.scanners().is_empty()
    })
    .await;
}

/// What a killed `gleaner` left of one unit.
struct Left {
    unit: i64,
    pid: i64,
    directory: std::path::PathBuf,
}

impl Left {
    async fn of(home: &Home, repository: i64) -> Self {
        let row = home
            .db
            .fetch_one(sql!(
                "SELECT subprocess.unit AS unit, pid, directory FROM subprocess
                 JOIN unit ON unit.id = subprocess.unit
                 WHERE unit.kind = 'license/scan' AND unit.key = $1",
                repository.to_string()
            ))
            .await
            .unwrap();
        Self {
            unit: row.get("unit").unwrap(),
            pid: row.get("pid").unwrap(),
            directory: row.get::<String>("directory").unwrap().into(),
        }
    }

    fn signal(&self, signal: Signal) {
        let leader = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let _ = kill_process_group(leader.unwrap(), signal);
    }

    fn has(&self, name: &str) -> bool {
        self.directory.join(name).exists()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.join(name), text).unwrap();
    }
}

const MIT: &str = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n";
