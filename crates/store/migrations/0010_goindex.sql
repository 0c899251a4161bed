-- The Go index: tags of repositories, the module versions they name, and the feed of versions.

-- A repository whose tags are read.
CREATE TABLE go_repository (
    repository {int} PRIMARY KEY NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    -- over all tags and the rules they were read by; none until all of them are known
    ref_digest {text},
    added_at {time} NOT NULL,
    -- the last run, and the last one that ended with a whole answer
    began_at {time},
    finished_at {time}
){strict};

-- When the owners on forges were last listed.
CREATE TABLE go_listing (
    source {int} PRIMARY KEY NOT NULL REFERENCES repo_group_source (id) ON DELETE CASCADE,
    began_at {time} NOT NULL,
    finished_at {time}
){strict};

-- Every tag that was ever seen. What it pointed at first stays; what became of it is told beside.
CREATE TABLE go_tag (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    -- without refs/tags/
    name {text} NOT NULL,
    -- the commit when it was first seen; none for a tag of something else
    commit_id {text},
    -- what it leads to by now
    object_id {text} NOT NULL,
    committed_at {time},
    -- whether there is a go.mod at the top of the repository; none where nobody looked
    top_go_mod {bool},
    -- why it is no version, in a word and in full; none for a tag that is one
    rejection {text},
    detail {text},
    first_seen {time} NOT NULL,
    -- when it was last seen to lead elsewhere than before
    moved_at {time},
    gone_at {time},
    UNIQUE (repository, name)
){strict};
CREATE INDEX go_tag_rejected ON go_tag (rejection, id) WHERE rejection IS NOT NULL;

-- Versions of modules. The repository that named one first keeps it.
CREATE TABLE go_version (
    id {id},
    path {text} NOT NULL,
    version {text} NOT NULL,
    repository {int} REFERENCES repository (id) ON DELETE SET NULL,
    tag {text} NOT NULL,
    commit_id {text} NOT NULL,
    -- of the module in the repository; empty at the top
    directory {text} NOT NULL,
    -- the id of its go.mod; none where it has none
    go_mod {text},
    -- known: below the repository's own path; vanity; vanity-subdirectory
    origin {text} NOT NULL,
    -- the path that leads to the repository
    root {text} NOT NULL,
    committed_at {time},
    found_at {time} NOT NULL,
    -- an +incompatible version that the go command does not list
    hidden {bool} NOT NULL,
    -- when its tag was no longer there
    gone_at {time},
    -- by the newest go.mod of the module
    retracted {bool} NOT NULL,
    retraction {text},
    -- its place in the feed
    seq {int},
    UNIQUE (path, version)
){strict};
CREATE INDEX go_version_unpublished ON go_version (id) WHERE seq IS NULL;
CREATE INDEX go_version_repository ON go_version (repository, tag);

-- Modules that have a version.
CREATE TABLE go_module (
    path {text} PRIMARY KEY NOT NULL,
    -- the version whose go.mod speaks for the module
    latest {text} NOT NULL,
    deprecated {text},
    changed_at {time} NOT NULL
){strict};

-- Import paths that are not their repository's own, and what their hosts say about them.
CREATE TABLE go_root (
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    -- the path that was asked about
    asked {text} NOT NULL,
    -- here, elsewhere or nowhere
    verdict {text} NOT NULL,
    -- the path that stands for the repository, and the directory of it
    path {text} NOT NULL,
    subdir {text} NOT NULL,
    -- where it leads
    url {text},
    answered_at {time} NOT NULL,
    PRIMARY KEY (repository, asked)
){strict};

-- Contents of go.mod files, by the id that git gives them.
CREATE TABLE go_mod (
    id {text} PRIMARY KEY NOT NULL,
    body {bytes} NOT NULL
){strict};

-- Tags that moved, vanished or came back, and paths that a second repository claimed.
CREATE TABLE go_event (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    tag {text} NOT NULL,
    -- moved, vanished, returned or claimed
    what {text} NOT NULL,
    was {text},
    became {text},
    observed_at {time} NOT NULL
){strict};
CREATE INDEX go_event_repository ON go_event (repository, id);

-- The feed. A row is appended once, by one writer at a time, and keeps its number and its moment.
CREATE TABLE go_feed (
    seq {int} PRIMARY KEY NOT NULL,
    path {text} NOT NULL,
    version {text} NOT NULL,
    -- strictly increasing with seq
    published_at {time} NOT NULL,
    -- whether its tag is still there; the one thing that may change
    available {bool} NOT NULL
){strict};
CREATE UNIQUE INDEX go_feed_published_at ON go_feed (published_at);
CREATE INDEX go_feed_available ON go_feed (published_at) WHERE available;
CREATE INDEX go_feed_path ON go_feed (path, seq);

CREATE VIEW repo_indexing AS
SELECT TRUE AS id, MAX(l.began_at) AS indexing_began,
    -- all lists, or the whole listing is not finished
    CASE WHEN COUNT(*) = COUNT(l.finished_at) THEN MIN(l.finished_at) END AS indexing_finished
FROM go_listing l;

CREATE VIEW repo_tags AS
SELECT CASE WHEN r.owner = '' THEN r.name ELSE r.owner || '/' || r.name END AS org_repo_name,
    t.name AS tag_name, COALESCE(t.committed_at, t.first_seen) AS created,
    (SELECT MIN(v.path) FROM go_version v WHERE v.repository = t.repository AND v.tag = t.name)
        AS module_path,
    t.repository AS repo_id, t.commit_id, t.rejection, t.first_seen, t.moved_at
FROM go_tag t JOIN repository r ON r.id = t.repository
WHERE t.gone_at IS NULL;

CREATE VIEW go_index AS
SELECT f.seq, f.path, f.version, f.published_at AS timestamp, f.available, v.committed_at,
    v.repository AS repo_id, v.directory, v.commit_id, v.tag, v.retracted
FROM go_feed f LEFT JOIN go_version v ON v.path = f.path AND v.version = f.version;

DROP VIEW repo_distribution_orphan;
DROP VIEW repos;
CREATE VIEW repos AS
SELECT r.id AS repo_id, r.url AS repo_git, r.owner AS repo_owner, r.name AS repo_name,
    CASE WHEN r.owner = '' THEN r.name ELSE r.owner || '/' || r.name END AS org_repo_name,
    r.host AS repo_host, r.forge AS repo_forge, r.forge_id AS repo_forge_id,
    r.archived AS repo_archived, r.default_branch, r.added_at AS repo_added, r.gone_at AS repo_gone,
    (SELECT MAX(s.last_answered) FROM source_state s WHERE s.repository = r.id) AS distribution_last_run,
    (SELECT COALESCE(MAX(s.failures), 0) FROM source_state s WHERE s.repository = r.id) AS distribution_failed_attempts,
    (SELECT MAX(s.last_failed_at) FROM source_state s WHERE s.repository = r.id) AS distribution_last_failed_at,
    -- every source that is switched on has answered whole when it was last asked; a source that
    -- was asked and did not answer leaves the last scan incomplete
    CASE WHEN EXISTS (SELECT 1 FROM expected_source x WHERE x.repository = r.id)
    THEN NOT EXISTS (
        SELECT 1 FROM expected_source x
        LEFT JOIN source_state s ON s.repository = x.repository AND s.source = x.source
        WHERE x.repository = r.id
          AND (s.source IS NULL OR NOT s.complete OR s.last_answered IS NULL OR s.last_answered <> s.last_asked))
    ELSE (SELECT MIN(CASE WHEN s.complete AND s.last_answered = s.last_asked THEN 1 ELSE 0 END) = 1
        FROM source_state s WHERE s.repository = r.id) END AS distribution_scan_complete,
    g.began_at AS indexing_began, g.finished_at AS indexing_finished
FROM repository r LEFT JOIN go_repository g ON g.repository = r.id;

-- As it was; it stands on `repos`.
CREATE VIEW repo_distribution_orphan AS
SELECT r.repo_id, r.repo_owner || '/' || r.repo_name AS repo, m.manifest_type,
    m.package_name_declared, m.manifest_path
FROM repos r
JOIN repo_distribution_manifest m ON m.repo_id = r.repo_id
LEFT JOIN repo_distribution d ON d.repo_id = m.repo_id AND d.ecosystem = m.manifest_type
WHERE d.distribution_id IS NULL;
