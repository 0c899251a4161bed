//! Reading blobs by id, all through one process.

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};

use super::{
    GitError, Limits, Local,
    command::{complaints, failed, finish, pipe, within},
};

/// What an id leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blob {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// It is larger than the limit; nothing of it was kept.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
    },
    /// The repository does not hold it (a partial clone, or damage).
    Missing,
}

const CAT_FILE: &str = "cat-file";

/// The longest head of an answer: an id, a type and a size.
const MAX_HEAD: u64 = 4096;

impl Local {
    /// Reads blobs and hands each over with its place in `ids`, in that order.
    pub async fn blobs(
        &self,
        ids: &[&str],
        mut take: impl FnMut(usize, Blob),
    ) -> Result<(), GitError> {
        if ids.is_empty() {
            return Ok(());
        }
        // An id with a line break in it would be two questions.
        if ids.iter().any(|id| !is_hex(id)) {
            return Err(GitError::Garbled { command: CAT_FILE });
        }
        let limits = *self.limits();
        let mut git = self.git(CAT_FILE).args(["--batch"]).with_input();
        let mut questions = ids.join("\n");
        questions.push('\n');
        let read = async {
            let (mut child, complaint) = complaints(git.start()?);
            let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(GitError::Garbled { command: CAT_FILE });
            };
            // Asking and reading go on side by side: git stops listening when nobody reads. A
            // broken pipe here shows as a missing answer there.
            let ask = async move {
                let _ = stdin.write_all(questions.as_bytes()).await;
                drop(stdin);
            };
            let answers = async {
                let mut from = BufReader::new(stdout);
                let mut left = limits.total_bytes;
                for place in 0..ids.len() {
                    let Some(blob) = answer(&mut from, &limits, &mut left).await? else {
                        return Ok(place);
                    };
                    take(place, blob);
                }
                Ok(ids.len())
            };
            let ((), answered) = tokio::join!(ask, answers);
            let answered = answered?;
            let (status, complaint) = finish(CAT_FILE, child, complaint).await?;
            if !status.success() {
                return Err(failed(CAT_FILE, &complaint));
            }
            if answered < ids.len() {
                return Err(GitError::Garbled { command: CAT_FILE });
            }
            Ok(())
        };
        within(CAT_FILE, limits.time, read).await
    }
}

impl Local {
    /// Those of these ids that the repository does not hold.
    pub(super) async fn missing(&self, ids: &[&str]) -> Result<Vec<String>, GitError> {
        if ids.iter().any(|id| !is_hex(id)) {
            return Err(GitError::Garbled { command: CAT_FILE });
        }
        let names: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let found = self.resolve(&names).await?;
        let missing = names.into_iter().zip(found);
        Ok(missing
            .filter(|(_, found)| found.is_none())
            .map(|(id, _)| id)
            .collect())
    }

    /// The objects that names lead to, each in its place. The names must hold no line breaks.
    pub(super) async fn resolve(&self, names: &[String]) -> Result<Vec<Option<String>>, GitError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut questions = names.join("\n");
        questions.push('\n');
        let limit = questions.len() + names.len() * 100;
        let git = self.git(CAT_FILE).args(["--batch-check=%(objectname)"]);
        let said = git.ask(questions, limit).await?;
        let found: Vec<Option<String>> = said
            .lines()
            .map(|line| (is_hex(line)).then(|| line.to_owned()))
            .collect();
        if found.len() == names.len() {
            Ok(found)
        } else {
            Err(GitError::Garbled { command: CAT_FILE })
        }
    }
}

fn is_hex(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `<id> blob <size>\n<bytes>\n`, or `<id> missing\n`; none at the end of the stream.
async fn answer(
    from: &mut (impl AsyncBufRead + Unpin),
    limits: &Limits,
    left: &mut usize,
) -> Result<Option<Blob>, GitError> {
    let garbled = || GitError::Garbled { command: CAT_FILE };
    let broken = |source| pipe(CAT_FILE, source);
    let mut head = Vec::new();
    (&mut *from)
        .take(MAX_HEAD)
        .read_until(b'\n', &mut head)
        .await
        .map_err(broken)?;
    if head.is_empty() {
        return Ok(None);
    }
    let head = std::str::from_utf8(&head).map_err(|_| garbled())?;
    let mut words = head.split_ascii_whitespace();
    let (_, kind, size) = (words.next(), words.next(), words.next());
    if kind == Some("missing") {
        return Ok(Some(Blob::Missing));
    }
    let bytes: u64 = size
        .and_then(|size| size.parse().ok())
        .ok_or_else(garbled)?;
    let fits = usize::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes <= limits.blob_bytes && kind == Some("blob"));
    let blob = if let Some(size) = fits {
        *left = left.checked_sub(size).ok_or(GitError::TooMuch {
            command: CAT_FILE,
            limit: limits.total_bytes,
        })?;
        let mut bytes = vec![0; size];
        from.read_exact(&mut bytes).await.map_err(broken)?;
        Blob::Bytes(bytes)
    } else {
        let mut rest = (&mut *from).take(bytes);
        tokio::io::copy_buf(&mut rest, &mut tokio::io::sink())
            .await
            .map_err(broken)?;
        if rest.limit() > 0 {
            return Err(garbled());
        }
        Blob::TooLarge { bytes }
    };
    if from.read_u8().await.map_err(broken)? != b'\n' {
        return Err(garbled());
    }
    Ok(Some(blob))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(stream: &[u8]) -> Vec<Result<Option<Blob>, GitError>> {
        let limits = Limits {
            blob_bytes: 16,
            ..Limits::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (mut from, mut left, mut read) = (stream, 64, Vec::new());
            loop {
                let one = answer(&mut from, &limits, &mut left).await;
                let last = !matches!(one, Ok(Some(_)));
                read.push(one);
                if last {
                    return read;
                }
            }
        })
    }

    #[test]
    fn answers_follow_each_other() {
        let read =
            read(b"ab blob 3\nx\ny\nff missing\ncd blob 17\n01234567890123456\nef tree 0\n\n");
        let blobs: Vec<Blob> = read.into_iter().filter_map(|one| one.unwrap()).collect();
        assert_eq!(
            blobs,
            [
                Blob::Bytes(b"x\ny".to_vec()),
                Blob::Missing,
                Blob::TooLarge { bytes: 17 },
                Blob::TooLarge { bytes: 0 },
            ]
        );
    }

    proptest! {
        #[test]
        fn any_stream_ends(stream in prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(b' '), any::<u8>(), b'0'..=b'9'], 0..80,
        )) {
            read(&stream);
        }

        #[test]
        fn a_cut_stream_is_an_error_or_an_end(cut in 0_usize..40) {
            let stream = b"ab blob 3\nxyz\ncd blob 9\n123456789\n";
            let cut = cut.min(stream.len());
            for one in read(&stream[..cut]) {
                if let Ok(Some(Blob::Bytes(bytes))) = one {
                    prop_assert!(bytes == b"xyz" || bytes == b"123456789");
                }
            }
        }
    }
}
