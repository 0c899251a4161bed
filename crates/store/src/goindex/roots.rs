//! Import paths that are not their repository's own: where their hosts say that they lead.

use db::{Db, DbError, Timestamp, Tx, sql};

/// What a host said about an import path that a repository declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The path that was asked about.
    pub asked: String,
    /// Whether it leads to the repository.
    pub leads: Leads,
    /// The path that stands for the repository, or for a directory of it.
    pub path: String,
    /// That directory; empty for the top.
    pub subdir: String,
    /// Where it leads.
    pub url: Option<String>,
}

/// Where an import path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To the repository that declares it.
    Here,
    /// To another one.
    Elsewhere,
    /// The host knows no such path.
    Nowhere,
}

impl Leads {
    fn word(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Elsewhere => "elsewhere",
            Self::Nowhere => "nowhere",
        }
    }

    fn read(word: &str) -> Self {
        match word {
            "here" => Self::Here,
            "elsewhere" => Self::Elsewhere,
            _ => Self::Nowhere,
        }
    }
}

/// What hosts said about the paths of a repository, in the order of the paths.
pub async fn roots(db: &Db, repository: i64) -> Result<Vec<Root>, DbError> {
    let rows = db
        .fetch_all(sql!(
            "SELECT asked, verdict, path, subdir, url FROM go_root
             WHERE repository = $1 ORDER BY asked",
            repository
        ))
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Root {
                asked: row.get("asked")?,
                leads: Leads::read(&row.get::<String>("verdict")?),
                path: row.get("path")?,
                subdir: row.get("subdir")?,
                url: row.get("url")?,
            })
        })
        .collect()
}

/// Writes an answer down; tells whether it is another than before.
pub async fn root_answered(
    tx: &mut Tx,
    repository: i64,
    root: &Root,
    now: Timestamp,
) -> Result<bool, DbError> {
    let same = tx
        .execute(sql!(
            "UPDATE go_root SET answered_at = $7 WHERE repository = $1 AND asked = $2
               AND verdict = $3 AND path = $4 AND subdir = $5 AND url IS NOT DISTINCT FROM $6",
            repository,
            &root.asked,
            root.leads.word(),
            &root.path,
            &root.subdir,
            root.url.as_deref(),
            now
        ))
        .await?;
    if same > 0 {
        return Ok(false);
    }
    tx.execute(sql!(
        "INSERT INTO go_root (repository, asked, verdict, path, subdir, url, answered_at)
         SELECT x.id, $2, $3, $4, $5, $6, $7 FROM repository x WHERE x.id = $1
         ON CONFLICT (repository, asked) DO UPDATE SET verdict = excluded.verdict,
            path = excluded.path, subdir = excluded.subdir, url = excluded.url,
            answered_at = excluded.answered_at",
        repository,
        &root.asked,
        root.leads.word(),
        &root.path,
        &root.subdir,
        root.url.as_deref(),
        now
    ))
    .await?;
    Ok(true)
}
