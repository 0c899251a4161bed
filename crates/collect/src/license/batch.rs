//! Batches that a process takes whole, and what to do when one kills it.
//!
//! A process that reads a directory and writes one file at its end tells nothing when it dies. So a
//! batch that came to nothing is halved until the culprit is alone; everything else gets its answer.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{Broken, Input, Scanned};

/// What a process made of a batch.
#[derive(Debug)]
pub(super) enum Ran {
    /// It ended well: an answer for each file.
    Whole(Vec<Scanned>),
    /// It died, hung or wrote nonsense: nothing is known.
    Lost { why: String, elapsed: Duration },
    /// It could not even be started.
    Broken(String),
}

/// Runs one batch.
pub(super) trait RunBatch: Sync {
    fn run<'a>(&'a self, files: &'a [Input]) -> BoxFuture<'a, Ran>;
}

/// Answers for all files, whatever single ones do. A file alone gets a second chance: the first
/// death may have been an accident.
pub(super) async fn isolate(
    runner: &(impl RunBatch + ?Sized),
    files: &[Input],
) -> Result<Vec<Scanned>, Broken> {
    let mut answers: Vec<Option<Scanned>> = files.iter().map(|_| None).collect();
    // Ranges still to do, the next one last; with how often they were tried.
    let mut open: Vec<(usize, usize, u32)> = vec![(0, files.len(), 0)];
    while let Some((from, to, tries)) = open.pop() {
        if from >= to {
            continue;
        }
        match runner.run(&files[from..to]).await {
            Ran::Whole(done) => {
                for (place, answer) in answers[from..to].iter_mut().zip(done) {
                    *place = Some(answer);
                }
            }
            Ran::Broken(why) => return Err(Broken(why)),
            Ran::Lost { why, elapsed } if to - from == 1 => {
                if tries == 0 && elapsed < Duration::from_secs(30) {
                    open.push((from, to, 1));
                } else {
                    answers[from] = Some(Scanned::Failed { why, elapsed });
                }
            }
            Ran::Lost { .. } => {
                let middle = from + (to - from) / 2;
                open.push((middle, to, 0));
                open.push((from, middle, 0));
            }
        }
    }
    let missing = || Scanned::Failed {
        why: "the scanner left it out".to_owned(),
        elapsed: Duration::ZERO,
    };
    Ok(answers
        .into_iter()
        .map(|answer| answer.unwrap_or_else(missing))
        .collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use facts::license::Findings;

    use super::*;

    /// Dies of every file called "poison".
    #[derive(Default)]
    struct Fragile(AtomicUsize);

    impl RunBatch for Fragile {
        fn run<'a>(&'a self, files: &'a [Input]) -> BoxFuture<'a, Ran> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                if files.iter().any(|file| file.path.contains("poison")) {
                    return Ran::Lost {
                        why: "it died".to_owned(),
                        elapsed: Duration::ZERO,
                    };
                }
                Ran::Whole(
                    files
                        .iter()
                        .map(|_| Scanned::Done {
                            findings: Box::new(Findings::default()),
                            elapsed: Duration::ZERO,
                            degraded: false,
                        })
                        .collect(),
                )
            })
        }
    }

    #[tokio::test]
    async fn the_culprit_is_found_and_all_others_are_answered() {
        let files: Vec<Input> = (0..100)
            .map(|number| Input {
                path: if number == 17 || number == 80 {
                    format!("poison-{number}")
                } else {
                    format!("fine-{number}")
                },
                bytes: Vec::new(),
            })
            .collect();
        let runner = Fragile::default();
        let answers = isolate(&runner, &files).await.unwrap();
        for (file, answer) in files.iter().zip(&answers) {
            let failed = matches!(answer, Scanned::Failed { .. });
            assert_eq!(failed, file.path.contains("poison"), "{}", file.path);
        }
        // Halving, not one by one.
        assert!(runner.0.load(Ordering::Relaxed) < 40);
    }
}
