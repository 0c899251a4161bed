//! When commits were made.

use std::collections::HashMap;

use super::{GitError, Local};

const REV_LIST: &str = "rev-list";

impl Local {
    /// The committer's time of each commit, in seconds since 1970. What is no commit, or is not
    /// here, fails all of it.
    pub async fn commit_times(&self, commits: &[&str]) -> Result<HashMap<String, i64>, GitError> {
        let garbled = || GitError::Garbled { command: REV_LIST };
        if commits.is_empty() {
            return Ok(HashMap::new());
        }
        let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        // Anything else might be an option, or two questions.
        if !commits.iter().all(is_id) {
            return Err(garbled());
        }
        let mut questions = commits.join("\n");
        questions.push('\n');
        let limit = commits.len() * 128;
        let said = self
            .git(REV_LIST)
            .args([
                "--no-walk=unsorted",
                "--no-commit-header",
                "--format=%H %ct",
            ])
            .args(["--stdin"])
            .ask(questions, limit)
            .await?;
        let times = said.lines().map(|line| {
            let (id, seconds) = line.split_once(' ')?;
            Some((id.to_owned(), seconds.trim().parse().ok()?))
        });
        times.collect::<Option<_>>().ok_or_else(garbled)
    }
}
