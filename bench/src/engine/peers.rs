//! Baselines on the same server in the same run.
//!
//! `pgmq-sql` does what the queue pgmq does, in its form: functions that put
//! the queue's name into a statement and run it. A read makes up to n messages
//! invisible for a while, a delete acknowledges them by id; each is a
//! transaction of its own, four loops with 1,000 messages a time, which is its
//! fastest way. It has no fence, no retry and keeps no history, so it writes
//! less than the engine must.
//!
//! `pgbench-commit` is how many single-row updates the server can commit with
//! as many clients: nothing durable can be faster at one unit per commit.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use sqlx::{Executor as _, PgPool, Row as _, postgres::PgPoolOptions};

use crate::cluster::Cluster;

pub(crate) const PGMQ: &str = "pgmq-sql";
pub(crate) const PGBENCH: &str = "pgbench-commit";

const LOOPS: usize = 4;
const READ: usize = 1_000;

const READ_FUNCTION: &str = "
    CREATE FUNCTION read_queue(name TEXT, hidden INTERVAL, most INT) RETURNS SETOF queue AS $$
    BEGIN
        RETURN QUERY EXECUTE format(
            'WITH visible AS (
                SELECT msg_id FROM %1$I WHERE vt <= clock_timestamp()
                ORDER BY msg_id LIMIT $1 FOR UPDATE SKIP LOCKED
             )
             UPDATE %1$I AS q SET vt = clock_timestamp() + $2, read_ct = read_ct + 1
             FROM visible WHERE q.msg_id = visible.msg_id RETURNING q.*', name)
        USING most, hidden;
    END $$ LANGUAGE plpgsql";

const DELETE_FUNCTION: &str = "
    CREATE FUNCTION delete_from_queue(name TEXT, ids BIGINT[]) RETURNS SETOF BIGINT AS $$
    BEGIN
        RETURN QUERY EXECUTE format('DELETE FROM %I WHERE msg_id = ANY($1) RETURNING msg_id', name)
        USING ids;
    END $$ LANGUAGE plpgsql";

/// What the message queue did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub enqueue: f64,
    pub drain: f64,
}

/// Sends and drains `messages`; both rates per second.
pub(crate) async fn pgmq(url: &str, messages: usize) -> anyhow::Result<Queue> {
    let pool = PgPoolOptions::new()
        .max_connections(LOOPS as u32)
        .min_connections(LOOPS as u32)
        .connect(url)
        .await?;
    pool.execute(
        "CREATE TABLE queue (
            msg_id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            read_ct INT NOT NULL DEFAULT 0,
            enqueued_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            vt TIMESTAMPTZ NOT NULL,
            message JSONB)",
    )
    .await?;
    pool.execute("CREATE INDEX queue_vt ON queue (vt)").await?;
    pool.execute(READ_FUNCTION).await?;
    pool.execute(DELETE_FUNCTION).await?;

    let bodies: Vec<String> = (0..messages)
        .map(|number| format!(r#"{{"subject":"subject/{number}"}}"#))
        .collect();
    let begun = Instant::now();
    for chunk in bodies.chunks(READ) {
        sqlx::query(
            "INSERT INTO queue (vt, message)
             SELECT clock_timestamp(), body::jsonb FROM UNNEST($1::text[]) AS body",
        )
        .bind(chunk)
        .execute(&pool)
        .await?;
    }
    let enqueue = messages as f64 / begun.elapsed().as_secs_f64();
    pool.execute("VACUUM ANALYZE queue").await?;
    pool.execute("CHECKPOINT").await?;

    let begun = Instant::now();
    let loops = (0..LOOPS).map(|_| tokio::spawn(read_and_delete(pool.clone())));
    let mut drained = 0;
    for task in loops.collect::<Vec<_>>() {
        drained += task.await??;
    }
    let drain = messages as f64 / begun.elapsed().as_secs_f64();
    ensure!(drained == messages, "{drained} of {messages} were drained");
    pool.execute("DROP TABLE queue CASCADE").await?;
    pool.close().await;
    Ok(Queue { enqueue, drain })
}

async fn read_and_delete(pool: PgPool) -> anyhow::Result<usize> {
    let mut drained = 0;
    loop {
        let rows = sqlx::query(
            "SELECT msg_id, read_ct, enqueued_at, vt, message
             FROM read_queue('queue', interval '30 seconds', $1)",
        )
        .bind(READ as i32)
        .fetch_all(&pool)
        .await?;
        if rows.is_empty() {
            return Ok(drained);
        }
        let ids: Vec<i64> = rows
            .iter()
            .map(|row| row.try_get(0))
            .collect::<Result<_, _>>()?;
        let deleted = sqlx::query("SELECT id FROM delete_from_queue('queue', $1) AS id")
            .bind(ids)
            .fetch_all(&pool)
            .await?;
        drained += deleted.len();
    }
}

/// Commits of a single-row update per second, with so many clients.
pub(crate) async fn pgbench(url: &str, clients: usize, time: Duration) -> anyhow::Result<f64> {
    let binaries = Cluster::find_binaries().context("no PostgreSQL binaries for pgbench")?;
    let pool = PgPoolOptions::new().max_connections(1).connect(url).await?;
    pool.execute(
        "CREATE TABLE commits (id INT PRIMARY KEY, n INT NOT NULL) WITH (fillfactor = 80)",
    )
    .await?;
    pool.execute("INSERT INTO commits SELECT i, 0 FROM generate_series(1, 100000) AS i")
        .await?;
    pool.execute("VACUUM ANALYZE commits").await?;
    let script = tempfile::NamedTempFile::new()?;
    std::fs::write(
        script.path(),
        "\\set id random(1, 100000)\nUPDATE commits SET n = n + 1 WHERE id = :id;\n",
    )?;
    let output = tokio::process::Command::new(binaries.join("pgbench"))
        .args(["-n", "-M", "prepared", "-j", "2"])
        .args(["-c", &clients.to_string()])
        .args(["-T", &time.as_secs().max(1).to_string()])
        .arg("-f")
        .arg(script.path())
        .arg(url)
        .output()
        .await?;
    pool.execute("DROP TABLE commits").await?;
    pool.close().await;
    let said = String::from_utf8_lossy(&output.stdout);
    let rate = said
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    match rate {
        Some(rate) => Ok(rate),
        None => bail!(
            "pgbench gave no rate: {said}{}",
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}
