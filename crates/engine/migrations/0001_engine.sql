-- The durable work engine. The words are those of ENGINE.md.

-- One piece of work. Narrow and hot: what is big or rarely read is in unit_body.
CREATE TABLE unit (
    id {id},
    kind {text} NOT NULL,
    key {text} NOT NULL,
    pool {text} NOT NULL,
    upstream {text} NOT NULL,           -- '' asks nobody
    state {text} NOT NULL,              -- no CHECK: it cost claim and finish a tenth on SQLite
    -- Where the indexes find it; null for most of its life. Only columns that are in an index or
    -- its predicate cost PostgreSQL all indexes when they change, and neither a claim nor an end
    -- changes this one.
    shelf {text} GENERATED ALWAYS AS (CASE WHEN state IN ('waiting', 'parked') THEN state END) STORED,
    rank {small} NOT NULL,
    due_at {time} NOT NULL,             -- ready: runs from then on; parked: returns then; waiting: since; else: was due
    attempt {small} NOT NULL,           -- the fencing number; only ever grows
    worker {int},                       -- who runs it
    strikes {small} NOT NULL,
    partials {small} NOT NULL,
    lost {small} NOT NULL,              -- runs whose process died, since the last end
    cadence {small},                    -- seconds between complete runs; null for a one-off
    version {small} NOT NULL,           -- of the collector that stamped it
    ended_at {time},                    -- the last run that ended: well, in part, or parked
    succeeded_at {time},                -- the last run that ended well
    again {bool} NOT NULL,              -- enqueued while running: runs once more
    required {bool} NOT NULL,           -- some unit waits or waited for this one
    body {bool} NOT NULL,               -- has a row in unit_body
    UNIQUE (kind, key)
){churned};

CREATE INDEX unit_parked ON unit (due_at, id) WHERE shelf = 'parked';
CREATE INDEX unit_waiting ON unit (id) WHERE shelf = 'waiting';

-- The queue, in exactly the claim's order: every ready unit is named in a hint, some of which are
-- stale. See src/queue.rs.
CREATE TABLE ready (
    pool {text} NOT NULL,
    upstream {text} NOT NULL,
    rank {small} NOT NULL,
    due_at {time} NOT NULL,
    unit {int} NOT NULL,                -- the first that it names
    kind {text} NOT NULL,
    version {small} NOT NULL,
    size {small} NOT NULL,              -- how many it names
    units {text},                       -- all of them, with commas (null: that one alone)
    PRIMARY KEY (pool, upstream, rank, due_at, unit)
){queue};

-- What one lane of a process holds: every running unit is named in a row of its worker. A row is
-- rewritten with each claim, not with each end, so it may name units that are over.
CREATE TABLE holding (
    id {id},
    worker {int} NOT NULL,
    units {text} NOT NULL               -- ids, with spaces between
){hot};
CREATE INDEX holding_worker ON holding (worker);

CREATE TABLE unit_body (
    unit {int} PRIMARY KEY NOT NULL,
    payload {text},                     -- JSON, from who enqueued it
    cursor {text},                      -- JSON, progress committed with the facts it covers
    report {text},                      -- JSON, of the last run that ended
    error {text},                       -- why the last run did not end well
    failed_at {time}
){strict};

-- One attempt at a unit, for kinds that keep them.
CREATE TABLE run (
    id {id},
    unit {int} NOT NULL,
    attempt {int} NOT NULL,
    worker {text} NOT NULL,
    started_at {time},
    ended_at {time} NOT NULL,
    outcome {text} NOT NULL,
    error {text},
    report {text}
){strict};
CREATE INDEX run_unit ON run (unit, id);

-- "This unit waits for that one." A met requirement is deleted; what is left is
-- open, failed (hard: parks the parent) or missed (soft: counted).
CREATE TABLE requirement (
    parent {int} NOT NULL,
    child {int} NOT NULL,
    hard {bool} NOT NULL,
    since {time},                       -- has ended well since; null: ever
    deadline {time},
    state {text} NOT NULL CHECK (state IN ('open', 'failed', 'missed')),
    PRIMARY KEY (parent, child)
){strict};
CREATE INDEX requirement_child ON requirement (child, parent);
CREATE INDEX requirement_deadline ON requirement (deadline, parent, child) WHERE deadline IS NOT NULL AND state = 'open';

-- Units whose edges the resolver must look at: they ended, or began to wait.
CREATE TABLE unfolded (
    seq {id},
    units {text} NOT NULL,              -- with commas
    size {small} NOT NULL,              -- how many
    waits {bool} NOT NULL               -- they began to wait, and have not ended
){hot};

-- One process that runs units. Its heartbeat is its lease on all of them.
CREATE TABLE worker (
    id {id},
    name {text} NOT NULL,
    host {text} NOT NULL,
    pid {int} NOT NULL,
    started_at {time} NOT NULL,
    beat {int} NOT NULL,                -- grows; observers compare it, nobody compares clocks
    beat_at {time} NOT NULL,            -- for people
    kinds {text} NOT NULL,
    release {text} NOT NULL
){hot};

CREATE TABLE pool (
    name {text} PRIMARY KEY NOT NULL,
    paused_at {time},
    paused_why {text},
    next_start_at {time}                -- of the first filling, for the whole fleet
){strict};

CREATE TABLE upstream (
    name {text} PRIMARY KEY NOT NULL,
    succeeded_at {time},
    failed_at {time},
    failures {int} NOT NULL,            -- in a row, since the last success
    failing_since {time},               -- the first of those
    last_error {text},
    open_until {time},                  -- null: closed; ahead: open; past: half-open, to be probed
    openings {int} NOT NULL,            -- in a row
    prober {int},                       -- the worker that probes; void when that is gone
    held_until {time},                  -- the service wants silence
    held_why {text},
    next_request_at {time},             -- of the whole fleet, where requests keep a gap
    paused_at {time},
    paused_why {text}
){strict};

-- Who does which housekeeping next, so that one process of many does it.
CREATE TABLE duty (
    name {text} PRIMARY KEY NOT NULL,
    next_at {time} NOT NULL,
    position {int} NOT NULL
){strict};
