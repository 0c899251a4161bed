-- The license round: what scanners find in files, once for each distinct file, and what that makes
-- of repositories.

-- Who scans. Everything that may change an answer is part of the key.
CREATE TABLE license_scanner (
    id {id},
    key {text} NOT NULL UNIQUE,
    tool {text} NOT NULL,
    version {text} NOT NULL,
    options {text} NOT NULL,
    first_used {time} NOT NULL
){strict};

-- What a scanner found in a file, "nothing" included: most rows say just that, and they are what a
-- rescan saves most on. A file is its contents and as much of its name as can matter.
CREATE TABLE license_answer (
    id {id},
    scanner {int} NOT NULL REFERENCES license_scanner (id) ON DELETE CASCADE,
    -- the id that git gives the contents
    blob {text} NOT NULL,
    -- the name where a package parser might look at it, else its ending
    name_class {text} NOT NULL,
    -- found, nothing, degraded (cut short: good until the next visit) or failed
    state {text} NOT NULL,
    size {int},
    programming_language {text},
    file_type {text},
    mime_type {text},
    -- empty, binary or lfs-pointer; none for what can be read
    sort {text},
    expression {text},
    spdx {text},
    percentage {real},
    -- JSON; none where there is none
    detections {text},
    clues {text},
    copyrights {text},
    holders {text},
    authors {text},
    packages {text},
    errors {text},
    elapsed_ms {int} NOT NULL,
    scanned_at {time} NOT NULL,
    UNIQUE (scanner, blob, name_class)
){strict};

-- A repository's tree at one commit as one scanner sees it. The newest is the current one; older
-- ones are its history, and share the answers.
CREATE TABLE license_result (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    scanner {int} NOT NULL REFERENCES license_scanner (id),
    commit_id {text} NOT NULL,
    tree_id {text} NOT NULL,
    -- staged until all of its rows are there, then current, then replaced
    state {text} NOT NULL,
    -- files or whole-tree
    mode {text} NOT NULL,
    began_at {time} NOT NULL,
    scanned_at {time} NOT NULL,
    -- when it was last seen that nothing has changed
    checked_at {time} NOT NULL,
    replaced_at {time},
    -- what to do although nothing has changed: tree (put together again) or files (scan again)
    again {text},
    files {int} NOT NULL,
    files_found {int} NOT NULL,
    files_scanned {int} NOT NULL,
    files_failed {int} NOT NULL,
    bytes_scanned {int} NOT NULL,
    -- JSON: what was left out, by the reason
    skipped {text},
    -- JSON: how many files are empty, binary, lfs-pointer, vendored or generated
    told_apart {text},
    primary_spdx {text},
    primary_from {text}
){strict};
CREATE UNIQUE INDEX license_result_current ON license_result (repository) WHERE state = 'current';
CREATE INDEX license_result_repository ON license_result (repository, id);

-- The files of a result in which something was found, or which could not be scanned.
CREATE TABLE license_file (
    id {id},
    result {int} NOT NULL REFERENCES license_result (id) ON DELETE CASCADE,
    path {text} NOT NULL,
    blob {text} NOT NULL,
    -- none where there is no answer that is kept: see problem
    answer {int} REFERENCES license_answer (id) ON DELETE SET NULL,
    -- the expression in this tree, where a reference makes it another one
    spdx {text},
    -- JSON: the files that references led to
    spdx_from {text},
    -- ordinary, vendored or generated
    place {text} NOT NULL,
    -- too-large, failed, degraded or missing, and why
    problem {text},
    detail {text}
){strict};
CREATE UNIQUE INDEX license_file_path ON license_file (result, path);

-- How often licenses and holders stand in a result.
CREATE TABLE license_tally (
    result {int} NOT NULL REFERENCES license_result (id) ON DELETE CASCADE,
    -- license or holder
    what {text} NOT NULL,
    value {text} NOT NULL,
    files {int} NOT NULL,
    osi_approved {bool},
    PRIMARY KEY (result, what, value)
){strict};

-- The packages of a result.
CREATE TABLE license_package (
    id {id},
    result {int} NOT NULL REFERENCES license_result (id) ON DELETE CASCADE,
    purl {text},
    path {text} NOT NULL,
    spdx {text}
){strict};
CREATE INDEX license_package_result ON license_package (result, id);

-- Files that a second scanner looked at.
CREATE TABLE license_cross_check (
    id {id},
    blob {text} NOT NULL,
    name_class {text} NOT NULL,
    scanner {int} NOT NULL REFERENCES license_scanner (id) ON DELETE CASCADE,
    other {int} NOT NULL REFERENCES license_scanner (id) ON DELETE CASCADE,
    same_license {bool} NOT NULL,
    same_holders {bool} NOT NULL,
    spdx {text},
    other_spdx {text},
    path {text} NOT NULL,
    checked_at {time} NOT NULL,
    UNIQUE (scanner, other, blob, name_class)
){strict};

CREATE VIEW scancode_scans AS
SELECT s.id AS scan_id, s.repository AS repo_id, c.tool AS scanner, c.version AS scancode_version,
    c.key AS scanner_key, s.commit_id, s.tree_id, s.files AS files_count,
    s.files_scanned, s.files_found AS files_with_findings, s.files_failed AS files_with_errors,
    s.primary_spdx AS declared_license_expression_spdx, s.began_at AS scan_started,
    s.scanned_at AS scan_finished, s.checked_at AS last_run, s.scanned_at AS data_collection_date
FROM license_result s JOIN license_scanner c ON c.id = s.scanner
WHERE s.state = 'current';

CREATE VIEW scancode_scans_history AS
SELECT s.id AS scan_id, s.repository AS repo_id, c.tool AS scanner, c.version AS scancode_version,
    c.key AS scanner_key, s.commit_id, s.tree_id, s.files AS files_count,
    s.files_scanned, s.files_found AS files_with_findings, s.files_failed AS files_with_errors,
    s.primary_spdx AS declared_license_expression_spdx, s.began_at AS scan_started,
    s.scanned_at AS scan_finished, s.checked_at AS last_run, s.scanned_at AS data_collection_date,
    s.replaced_at
FROM license_result s JOIN license_scanner c ON c.id = s.scanner
WHERE s.state = 'replaced';

CREATE VIEW scancode_file_results AS
SELECT f.id AS file_result_id, f.result AS scan_id, s.repository AS repo_id, f.path, f.blob AS sha1_git,
    a.size, a.programming_language, a.file_type, a.mime_type, a.sort, a.expression AS detected_license_expression,
    COALESCE(f.spdx, a.spdx) AS detected_license_expression_spdx,
    a.percentage AS percentage_of_license_text, a.detections AS license_detections,
    a.clues AS license_clues, a.copyrights, a.holders, a.authors, a.packages AS package_data,
    a.errors AS scan_errors, f.place, f.problem, f.detail, s.scanned_at AS data_collection_date
FROM license_file f JOIN license_result s ON s.id = f.result
LEFT JOIN license_answer a ON a.id = f.answer
WHERE s.state = 'current';

CREATE VIEW scancode_file_results_history AS
SELECT f.id AS file_result_id, f.result AS scan_id, s.repository AS repo_id, f.path, f.blob AS sha1_git,
    a.size, a.programming_language, a.file_type, a.mime_type, a.sort, a.expression AS detected_license_expression,
    COALESCE(f.spdx, a.spdx) AS detected_license_expression_spdx,
    a.percentage AS percentage_of_license_text, a.detections AS license_detections,
    a.clues AS license_clues, a.copyrights, a.holders, a.authors, a.packages AS package_data,
    a.errors AS scan_errors, f.place, f.problem, f.detail, s.scanned_at AS data_collection_date,
    s.replaced_at
FROM license_file f JOIN license_result s ON s.id = f.result
LEFT JOIN license_answer a ON a.id = f.answer
WHERE s.state = 'replaced';

-- With what the license round adds.
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
    g.began_at AS indexing_began, g.finished_at AS indexing_finished,
    l.checked_at AS scancode_last_run, c.version AS scancode_version, c.tool AS scancode_scanner
FROM repository r LEFT JOIN go_repository g ON g.repository = r.id
LEFT JOIN license_result l ON l.repository = r.id AND l.state = 'current'
LEFT JOIN license_scanner c ON c.id = l.scanner;

-- As it was; it stands on `repos`.
CREATE VIEW repo_distribution_orphan AS
SELECT r.repo_id, r.repo_owner || '/' || r.repo_name AS repo, m.manifest_type,
    m.package_name_declared, m.manifest_path
FROM repos r
JOIN repo_distribution_manifest m ON m.repo_id = r.repo_id
LEFT JOIN repo_distribution d ON d.repo_id = m.repo_id AND d.ecosystem = m.manifest_type
WHERE d.distribution_id IS NULL;
