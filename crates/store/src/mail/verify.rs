//! Whether every branch of the round has brought something.

use std::collections::HashMap;

use db::{Db, DbError, sql};
use serde::Serialize;

/// All branches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branches {
    pub branches: Vec<Branch>,
}

/// One branch, and how much came by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    pub name: String,
    pub count: i64,
    /// The lists that are registered can bring it.
    pub required: bool,
    /// It depends on what other rounds have collected.
    pub deferred: bool,
}

/// Classes that mail of any list brings; `unclassified` is never asked for.
const OF_ANY: [&str; 1] = ["discuss"];
/// Classes that lists of patches bring.
const OF_PATCHES: [&str; 2] = ["patch_submission", "review"];
/// Classes that lists with a tracker bring.
const OF_TRACKERS: [&str; 1] = ["issue_event"];
const CLASSES: [&str; 11] = [
    "issue_event",
    "patch_submission",
    "review",
    "github_mirror",
    "commit_notify",
    "vote",
    "announce",
    "result",
    "discuss",
    "support",
    "unclassified",
];

/// Counts every branch.
pub async fn branches(db: &Db) -> Result<Branches, DbError> {
    let classes = counts(
        db,
        "SELECT class AS name, COUNT(*) AS n FROM mail_message GROUP BY class",
    )
    .await?;
    let archives = counts(
        db,
        "SELECT l.archive AS name, COUNT(c.id) AS n FROM mail_list l
         LEFT JOIN mail_copy c ON c.list = l.id AND c.message IS NOT NULL GROUP BY l.archive",
    )
    .await?;
    let systems = counts(
        db,
        "SELECT system AS name, COUNT(*) AS n FROM mail_list GROUP BY system",
    )
    .await?;
    let routes = counts(
        db,
        "SELECT projected AS name, COUNT(*) AS n FROM mail_message
         WHERE projected IS NOT NULL GROUP BY projected",
    )
    .await?;
    let row = db
        .fetch_one(sql!(
            "SELECT (SELECT COUNT(*) FROM mail_list) AS lists,
                (SELECT COUNT(*) FROM mail_thread WHERE messages > 1) AS threads,
                (SELECT COUNT(*) FROM mail_message WHERE signalled_repository IS NOT NULL) AS signalled,
                (SELECT COUNT(*) FROM mail_message
                    WHERE class = 'github_mirror' AND issue IS NOT NULL) AS mirrors,
                (SELECT COUNT(*) FROM mail_sender WHERE contributor IS NOT NULL
                    AND identity <> 'email-only') AS senders,
                (SELECT COUNT(*) FROM forge_issue WHERE external_key IS NOT NULL) AS keys"
        ))
        .await?;
    let has_system = |name: &str| systems.get(name).copied().unwrap_or(0) > 0;
    let mut branches = vec![branch("lists registered", row.get("lists")?, true, false)];
    for archive in ["pony-mail", "public-inbox", "import"] {
        let required = archives.contains_key(archive);
        let count = archives.get(archive).copied().unwrap_or(0);
        branches.push(branch(
            &format!("archive {archive}"),
            count,
            required,
            false,
        ));
    }
    for class in CLASSES {
        let required = (OF_ANY.contains(&class) && !systems.is_empty())
            || (OF_PATCHES.contains(&class) && has_system("lore"))
            || (OF_TRACKERS.contains(&class) && has_system("apache"));
        let count = classes.get(class).copied().unwrap_or(0);
        branches.push(branch(&format!("class {class}"), count, required, false));
    }
    let route = |name: &str| routes.get(name).copied().unwrap_or(0);
    branches.push(branch(
        "route mailing_list_only",
        route("mailing_list_only"),
        true,
        false,
    ));
    branches.push(branch("route review", route("review"), false, false));
    branches.push(branch(
        "threading: answers joined",
        row.get("threads")?,
        true,
        false,
    ));
    branches.push(branch(
        "signalled repository known",
        row.get("signalled")?,
        false,
        false,
    ));
    branches.push(branch(
        "route bridged to an issue",
        route("issue"),
        false,
        true,
    ));
    branches.push(branch(
        "route bridged to a pull request",
        route("pr"),
        false,
        true,
    ));
    branches.push(branch("mirror linked", row.get("mirrors")?, false, true));
    branches.push(branch("sender known", row.get("senders")?, false, true));
    branches.push(branch(
        "issues with an external key",
        row.get("keys")?,
        false,
        true,
    ));
    Ok(Branches { branches })
}

fn branch(name: &str, count: i64, required: bool, deferred: bool) -> Branch {
    Branch {
        name: name.to_owned(),
        count,
        required,
        deferred,
    }
}

async fn counts(db: &Db, query: &'static str) -> Result<HashMap<String, i64>, DbError> {
    let rows = db.fetch_all(sql!(query)).await?;
    rows.iter()
        .map(|row| Ok((row.get("name")?, row.get("n")?)))
        .collect()
}
