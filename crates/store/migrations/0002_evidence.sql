-- What was observed, by whom and when.
--
-- The current tables hold one row for each fact with its present state: first_seen is the first
-- observation ever, changed_at the first of this state, last_seen the last, gone_at the first
-- clean answer without it. The history tables hold earlier states as spans; a row is appended when
-- a state is replaced by another or comes back after it was gone.

CREATE TABLE source_state (
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    source {text} NOT NULL,
    last_asked {time} NOT NULL,
    last_answered {time},
    -- whether the last answer was the whole one
    complete {bool} NOT NULL,
    -- why the last asking brought no answer, or only part of one
    error {text},
    -- of the collector that got the last answer
    collector_version {int},
    PRIMARY KEY (repository, source)
){strict};

CREATE TABLE evidence (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    source {text} NOT NULL,
    ecosystem {text} NOT NULL,
    package {text} NOT NULL,
    version {text},
    version_count {int},
    first_published_at {time},
    latest_published_at {time},
    path {text},
    attributes {text} NOT NULL,
    collector_version {int} NOT NULL,
    first_seen {time} NOT NULL,
    changed_at {time} NOT NULL,
    last_seen {time} NOT NULL,
    gone_at {time},
    UNIQUE (repository, source, ecosystem, package)
){strict};
CREATE INDEX evidence_package ON evidence (ecosystem, package);

CREATE TABLE evidence_history (
    id {id},
    evidence {int} NOT NULL REFERENCES evidence (id) ON DELETE CASCADE,
    version {text},
    version_count {int},
    first_published_at {time},
    latest_published_at {time},
    path {text},
    attributes {text} NOT NULL,
    collector_version {int} NOT NULL,
    seen_from {time} NOT NULL,
    seen_until {time} NOT NULL,
    gone_at {time}
){strict};
CREATE INDEX evidence_history_evidence ON evidence_history (evidence);

CREATE TABLE manifest (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    source {text} NOT NULL,
    path {text} NOT NULL,
    manifest_type {text} NOT NULL,
    name {text},
    effective_name {text},
    version {text},
    intent {text} NOT NULL,
    reason {text},
    place {text} NOT NULL,
    -- the link to the source repository and the directory in it, as the file gives them
    link {text},
    directory {text},
    attributes {text} NOT NULL,
    error {text},
    -- id of the file's contents; not part of the state
    blob {text},
    collector_version {int} NOT NULL,
    first_seen {time} NOT NULL,
    changed_at {time} NOT NULL,
    last_seen {time} NOT NULL,
    gone_at {time},
    UNIQUE (repository, source, path)
){strict};
CREATE INDEX manifest_effective_name ON manifest (manifest_type, effective_name);

CREATE TABLE manifest_history (
    id {id},
    manifest {int} NOT NULL REFERENCES manifest (id) ON DELETE CASCADE,
    manifest_type {text} NOT NULL,
    name {text},
    effective_name {text},
    version {text},
    intent {text} NOT NULL,
    reason {text},
    place {text} NOT NULL,
    link {text},
    directory {text},
    attributes {text} NOT NULL,
    error {text},
    blob {text},
    collector_version {int} NOT NULL,
    seen_from {time} NOT NULL,
    seen_until {time} NOT NULL,
    gone_at {time}
){strict};
CREATE INDEX manifest_history_manifest ON manifest_history (manifest);
