//! Missing blobs by id, in batches rather than one by one.

use super::{Fetched, Refused, RemoteError, fetch::Question};

/// The most ids of one question. Measured with git's own backend, 16,000 blobs of 300 bytes take
/// 14.4 s by 500, 9.0 s by 2,000, 7.7 s by 4,000, 5.8 s by 8,000 and 5.6 s at once. A `want` takes
/// 50 bytes, and a question of more than a megabyte is preceded by a probe.
const IDS_PER_QUESTION: usize = 8_000;

/// What completing came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// How many blobs were not here before and are now.
    pub fetched: usize,
    /// What is still not here: the server has no such objects, or does not hand them out.
    pub missing: Vec<String>,
    /// What the server refused, so that everything was fetched instead.
    pub fallback: Option<Refused>,
    /// How many requests it took; 0 where git does not tell.
    pub requests: usize,
}

impl Fetched {
    /// Fetches those of these blobs that are not here, all in one question (or a few, if they are
    /// very many).
    pub async fn complete(&self, ids: &[&str]) -> Result<Completed, RemoteError> {
        let mut missing = self.local.missing(ids).await?;
        missing.sort_unstable();
        missing.dedup();
        let mut completed = Completed::default();
        let wanted = missing.len();
        for chunk in missing.chunks(IDS_PER_QUESTION) {
            let mut lines = chunk.join("\n");
            lines.push('\n');
            let asked = self
                .remote
                .fetch_lines(&self.place, &self.slot, None, lines);
            match asked.await {
                Ok(asked) => completed.requests += asked.exchanges.len(),
                Err(RemoteError::Unsupported { what, .. }) if self.is_blobless() => {
                    let question = Question::ShallowAgain;
                    let again = self
                        .remote
                        .ask(&self.place, &self.slot, &self.wants, question)
                        .await?;
                    completed.requests += again.exchanges.len() + 1;
                    completed.fallback = Some(what);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        completed.missing = self.local.missing(&missing).await?;
        completed.fetched = wanted - completed.missing.len();
        Ok(completed)
    }
}
