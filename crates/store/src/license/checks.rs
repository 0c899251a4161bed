//! Files that a second scanner looked at, and whether the two agree.

use db::{Bulk, DbError, Timestamp, Tx, sql};

use super::FileKey;

/// What two scanners say of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossCheck {
    /// The file.
    pub key: FileKey,
    /// Where it was met.
    pub path: String,
    /// What the first says.
    pub spdx: Option<String>,
    /// What the second says.
    pub other_spdx: Option<String>,
    /// Whether that is the same.
    pub same_license: bool,
    /// Whether both name the same holders.
    pub same_holders: bool,
}

/// Writes checks down; a file is checked once by each pair.
pub async fn note_checks(
    tx: &mut Tx,
    scanner: i64,
    other: i64,
    checks: &[CrossCheck],
    now: Timestamp,
) -> Result<(), DbError> {
    if checks.is_empty() {
        return Ok(());
    }
    let bulk = Bulk::new()
        .texts("blob", checks.iter().map(|one| one.key.blob.clone()))
        .texts(
            "name_class",
            checks.iter().map(|one| one.key.name_class.clone()),
        )
        .texts("path", checks.iter().map(|one| one.path.clone()))
        .texts("spdx", checks.iter().map(|one| one.spdx.clone()))
        .texts(
            "other_spdx",
            checks.iter().map(|one| one.other_spdx.clone()),
        )
        .bools("same_license", checks.iter().map(|one| one.same_license))
        .bools("same_holders", checks.iter().map(|one| one.same_holders));
    let statement = sql!(
        "INSERT INTO license_cross_check (scanner, other, blob, name_class, path, spdx, other_spdx,
            same_license, same_holders, checked_at)
         SELECT $1, $2, r.blob, r.name_class, r.path, r.spdx, r.other_spdx, r.same_license,
            r.same_holders, $3
         FROM {rows} WHERE TRUE
         ON CONFLICT (scanner, other, blob, name_class) DO NOTHING",
        scanner,
        other,
        now
    );
    tx.execute_bulk(statement, bulk).await?;
    Ok(())
}
