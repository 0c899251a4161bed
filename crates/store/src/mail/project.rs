//! Tying messages to the repositories, people, issues and pull requests they concern, as far as those
//! are known; again and again, in any order, with the same end.

use std::collections::HashMap;

use db::{Bulk, DbError, Row, Timestamp, Tx, sql};

use super::{
    issues::{self, Named},
    write,
};

/// Finds the repositories that messages name and that are known by now; answers how many messages.
pub async fn resolve_signals(tx: &mut Tx) -> Result<u64, DbError> {
    let by_name = tx
        .execute(sql!(
            "UPDATE mail_message SET signalled_repository = x.id FROM repository x
             WHERE mail_message.signalled_key = x.key AND mail_message.signalled_key IS NOT NULL
               AND mail_message.signalled_repository IS NULL"
        ))
        .await?;
    let by_former = tx
        .execute(sql!(
            "UPDATE mail_message SET signalled_repository = x.repository FROM repository_name x
             WHERE mail_message.signalled_key = x.key AND mail_message.signalled_key IS NOT NULL
               AND mail_message.signalled_repository IS NULL"
        ))
        .await?;
    Ok(by_name + by_former)
}

/// How many messages name a repository that is not known, and how many senders are nobody yet.
pub async fn unresolved(tx: &mut Tx) -> Result<(i64, i64), DbError> {
    let row = tx
        .fetch_one(sql!(
            "SELECT (SELECT COUNT(*) FROM mail_message
                    WHERE signalled_key IS NOT NULL AND signalled_repository IS NULL) AS signals,
                (SELECT COUNT(*) FROM mail_sender WHERE NOT automation
                    AND (contributor IS NULL OR identity = 'email-only')) AS senders"
        ))
        .await?;
    Ok((row.get("signals")?, row.get("senders")?))
}

/// What projecting some messages did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Projected {
    /// Messages that were looked at.
    pub looked_at: usize,
    /// Those that now belong to an issue or a pull request.
    pub linked: usize,
    /// Those that wait for a repository, an issue or a pull request to become known.
    pub waiting: usize,
    /// The number of the last one.
    pub last: i64,
}

/// A message as projection reads it.
struct Mail {
    id: i64,
    class: String,
    system: String,
    external_key: Option<String>,
    mirror_number: Option<i64>,
    mirror_node: Option<String>,
    signalled: Option<i64>,
    home: Option<i64>,
    group: Option<i64>,
    thread: i64,
    /// What it belonged to until now.
    standing: Option<i64>,
}

impl Mail {
    fn read(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            id: row.get("id")?,
            class: row.get("class")?,
            system: row.get("system")?,
            external_key: row.get("external_key")?,
            mirror_number: row.get("mirror_number")?,
            mirror_node: row.get("mirror_node")?,
            signalled: row.get("signalled_repository")?,
            home: row.get("home")?,
            group: row.get("repo_group")?,
            thread: row.get("thread")?,
            standing: row.get("issue")?,
        })
    }

    /// It names an issue by itself.
    fn names(&self) -> Option<Named> {
        let key = self.external_key.clone()?;
        (self.class == "issue_event").then_some(Named {
            repository: self.home?,
            key,
        })
    }
}

/// Ties at most `limit` messages behind a number, of those that were not tied yet.
///
/// Only lists of communities that track issues elsewhere and whose repository is known are
/// projected; mail of all others is mail and nothing else.
pub async fn project(
    tx: &mut Tx,
    after: i64,
    limit: usize,
    now: Timestamp,
) -> Result<Projected, DbError> {
    write::take_turn(tx).await?;
    let rows = tx
        .fetch_all(sql!(
            "SELECT m.id, m.class, m.system, m.external_key, m.mirror_number, m.mirror_node,
                m.signalled_repository, m.issue, n.thread, l.repo_group,
                COALESCE(l.repository, (SELECT MIN(g.repository) FROM repo_group_member g
                    WHERE g.repo_group = l.repo_group)) AS home
             FROM mail_message m JOIN mail_node n ON n.key = m.message_id
             JOIN mail_list l ON l.id = (SELECT MIN(c.list) FROM mail_copy c WHERE c.message = m.id)
             WHERE m.projected IS NULL AND m.id > $1 ORDER BY m.id LIMIT $2",
            after,
            limit
        ))
        .await?;
    let mails: Vec<Mail> = rows.iter().map(Mail::read).collect::<Result<_, _>>()?;
    let Some(last) = mails.last().map(|mail| mail.id) else {
        return Ok(Projected::default());
    };
    let mut named: Vec<Named> = mails
        .iter()
        .filter(|mail| mail.system == CLEAN_FIT)
        .filter_map(Mail::names)
        .collect();
    named.sort();
    named.dedup();
    let issues = issues::ensure(tx, &named, now).await?;
    let mirrors = mirrors(tx, &mails).await?;

    let mut own: Vec<(i64, i64, &str)> = Vec::new();
    let mut plain: Vec<i64> = Vec::new();
    let mut threads: Vec<i64> = Vec::new();
    let mut waiting = 0;
    for mail in &mails {
        if mail.system != CLEAN_FIT {
            plain.push(mail.id);
        } else if let Some(issue) = mail.names().and_then(|named| issues.get(&named)) {
            own.push((mail.id, *issue, "issue"));
            threads.push(mail.thread);
        } else if let Some((issue, kind)) = mirrors.get(&mail.id) {
            own.push((mail.id, *issue, if kind == "pull" { "pr" } else { "issue" }));
            threads.push(mail.thread);
        } else if mail.home.is_none() || mail.class == "github_mirror" {
            // A mirror never makes a pull request: it waits until somebody has collected it.
            waiting += 1;
        } else {
            plain.push(mail.id);
            threads.push(mail.thread);
        }
    }
    set(tx, &own).await?;
    let plain: Vec<(i64, Option<i64>, &str)> = plain
        .into_iter()
        .map(|id| (id, None, "mailing_list_only"))
        .collect();
    write_links(tx, &plain).await?;
    threads.sort_unstable();
    threads.dedup();
    let inherited = inherit(tx, &threads).await?;
    let mut touched: Vec<i64> = own.iter().map(|(_, issue, _)| *issue).collect();
    touched.extend(mails.iter().filter_map(|mail| mail.standing));
    touched.extend(inherited);
    touched.sort_unstable();
    touched.dedup();
    issues::refresh(tx, &touched).await?;
    Ok(Projected {
        looked_at: mails.len(),
        linked: own.len(),
        waiting,
        last,
    })
}

/// The rules whose communities track issues elsewhere.
const CLEAN_FIT: &str = "apache";

/// What mirrors copy, by message: by the forge's id within the list's own project, else by number.
async fn mirrors(tx: &mut Tx, mails: &[Mail]) -> Result<HashMap<i64, (i64, String)>, DbError> {
    let mirrors: Vec<&Mail> = mails
        .iter()
        .filter(|mail| mail.class == "github_mirror" && mail.system == CLEAN_FIT)
        .collect();
    if mirrors.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT r.id, i.id AS issue, i.kind, 0 AS way FROM {rows}
                 JOIN forge_issue i ON i.node_id = r.node
                 WHERE i.repository = r.home OR EXISTS (SELECT 1 FROM repo_group_member g
                    WHERE g.repo_group = r.repo_group AND g.repository = i.repository)
                 UNION ALL
                 SELECT r.id, i.id, i.kind, 1 FROM {rows}
                 JOIN forge_issue i ON i.repository = r.signalled AND i.number = r.number
                 WHERE i.platform_id >= 0
                 ORDER BY way DESC"
            ),
            Bulk::new()
                .ints("id", mirrors.iter().map(|mail| mail.id))
                .texts("node", mirrors.iter().map(|mail| mail.mirror_node.clone()))
                .ints("home", mirrors.iter().map(|mail| mail.home))
                .ints("repo_group", mirrors.iter().map(|mail| mail.group))
                .ints("signalled", mirrors.iter().map(|mail| mail.signalled))
                .ints("number", mirrors.iter().map(|mail| mail.mirror_number)),
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get("id")?, (row.get("issue")?, row.get("kind")?))))
        .collect()
}

async fn set(tx: &mut Tx, own: &[(i64, i64, &str)]) -> Result<(), DbError> {
    let links: Vec<(i64, Option<i64>, &str)> = own
        .iter()
        .map(|(id, issue, kind)| (*id, Some(*issue), *kind))
        .collect();
    write_links(tx, &links).await
}

/// Writes what messages belong to, with the comment that each makes.
async fn write_links(tx: &mut Tx, links: &[(i64, Option<i64>, &str)]) -> Result<(), DbError> {
    if links.is_empty() {
        return Ok(());
    }
    let rows = || {
        Bulk::new()
            .ints("id", links.iter().map(|(id, _, _)| *id))
            .ints("issue", links.iter().map(|(_, issue, _)| *issue))
            .texts("kind", links.iter().map(|(_, _, kind)| (*kind).to_owned()))
    };
    tx.execute_bulk(
        sql!(
            "UPDATE mail_message SET issue = r.issue, projected = r.kind FROM {rows}
             WHERE mail_message.id = r.id"
        ),
        rows(),
    )
    .await?;
    tx.execute_bulk(
        sql!("DELETE FROM forge_issue_comment WHERE message IN (SELECT r.id FROM {rows})"),
        rows(),
    )
    .await?;
    tx.execute_bulk(
        sql!(
            "INSERT INTO forge_issue_comment (issue, message)
             SELECT r.issue, r.id FROM {rows} WHERE r.issue IS NOT NULL"
        ),
        rows(),
    )
    .await
    .map(drop)
}

/// Lets the mail of threads belong to what the first mail in them belongs to that names something by
/// itself; answers the issues whose comments changed.
async fn inherit(tx: &mut Tx, threads: &[i64]) -> Result<Vec<i64>, DbError> {
    let rows = tx
        .fetch_bulk(
            sql!(
                "SELECT n.thread, m.id, m.issue, m.projected, m.system,
                    CASE WHEN m.issue IS NOT NULL AND ((m.class = 'issue_event' AND m.external_key IS NOT NULL)
                        OR m.class = 'github_mirror') THEN 1 ELSE 0 END AS own
                 FROM mail_node n JOIN mail_message m ON m.message_id = n.key
                 WHERE n.thread IN (SELECT r.id FROM {rows}) AND m.projected IS NOT NULL
                 ORDER BY n.thread, n.since IS NULL, n.since, m.message_id, m.content"
            ),
            Bulk::new().ints("id", threads.iter().copied()),
        )
        .await?;
    let mut anchors: HashMap<i64, (i64, String)> = HashMap::new();
    for row in &rows {
        if row.get::<i64>("own")? == 1 {
            let anchor = (row.get("issue")?, row.get("projected")?);
            anchors.entry(row.get("thread")?).or_insert(anchor);
        }
    }
    let mut links: Vec<(i64, Option<i64>, String)> = Vec::new();
    let mut touched = Vec::new();
    for row in &rows {
        let standing: Option<i64> = row.get("issue")?;
        let system: String = row.get("system")?;
        if row.get::<i64>("own")? == 1 || system != CLEAN_FIT {
            continue;
        }
        let anchor = anchors.get(&row.get::<i64>("thread")?);
        let wanted = anchor.map(|(issue, _)| *issue);
        if standing != wanted {
            let kind = anchor.map_or("mailing_list_only", |(_, kind)| kind.as_str());
            links.push((row.get("id")?, wanted, kind.to_owned()));
            touched.extend(standing);
            touched.extend(wanted);
        }
    }
    let links: Vec<(i64, Option<i64>, &str)> = links
        .iter()
        .map(|(id, issue, kind)| (*id, *issue, kind.as_str()))
        .collect();
    write_links(tx, &links).await?;
    Ok(touched)
}
