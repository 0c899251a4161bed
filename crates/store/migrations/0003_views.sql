-- Views for analysts, under the names and with the columns their queries already use.
--
-- data_collection_date is the time of an observation. The current views carry the last one. The
-- history views carry the first and the last observation of every state before that, so MIN over
-- current and history together is the first observation ever.

CREATE VIEW repos AS
SELECT r.id AS repo_id, r.url AS repo_git, r.owner AS repo_owner, r.name AS repo_name,
    CASE WHEN r.owner = '' THEN r.name ELSE r.owner || '/' || r.name END AS org_repo_name,
    r.host AS repo_host, r.forge AS repo_forge, r.forge_id AS repo_forge_id,
    r.archived AS repo_archived, r.default_branch, r.added_at AS repo_added, r.gone_at AS repo_gone,
    (SELECT MAX(s.last_answered) FROM source_state s WHERE s.repository = r.id) AS distribution_last_run,
    -- a source that was asked and did not answer leaves the last scan incomplete
    (SELECT MIN(CASE WHEN s.complete AND s.last_answered = s.last_asked THEN 1 ELSE 0 END) = 1
        FROM source_state s WHERE s.repository = r.id) AS distribution_scan_complete
FROM repository r;

CREATE VIEW repo_distribution AS
SELECT e.id AS distribution_id, e.repository AS repo_id, e.ecosystem, e.package AS package_name,
    e.version_count, e.first_published_at, e.latest_published_at, e.source, e.attributes AS extra,
    'gleaner' AS tool_source, CAST(e.collector_version AS TEXT) AS tool_version,
    e.last_seen AS data_collection_date, e.version, e.path
FROM evidence e
WHERE e.gone_at IS NULL;

CREATE VIEW repo_distribution_history AS
SELECT e.id AS distribution_id, e.repository AS repo_id, e.ecosystem, e.package AS package_name,
    h.version_count, h.first_published_at, h.latest_published_at, e.source, h.attributes AS extra,
    'gleaner' AS tool_source, CAST(h.collector_version AS TEXT) AS tool_version,
    h.seen_from AS data_collection_date, h.version, h.path
FROM evidence_history h JOIN evidence e ON e.id = h.evidence
UNION ALL
SELECT e.id AS distribution_id, e.repository AS repo_id, e.ecosystem, e.package AS package_name,
    h.version_count, h.first_published_at, h.latest_published_at, e.source, h.attributes AS extra,
    'gleaner' AS tool_source, CAST(h.collector_version AS TEXT) AS tool_version,
    h.seen_until AS data_collection_date, h.version, h.path
FROM evidence_history h JOIN evidence e ON e.id = h.evidence
WHERE h.seen_from < h.seen_until
UNION ALL
SELECT e.id AS distribution_id, e.repository AS repo_id, e.ecosystem, e.package AS package_name,
    e.version_count, e.first_published_at, e.latest_published_at, e.source, e.attributes AS extra,
    'gleaner' AS tool_source, CAST(e.collector_version AS TEXT) AS tool_version,
    e.changed_at AS data_collection_date, e.version, e.path
FROM evidence e
WHERE e.gone_at IS NOT NULL OR e.changed_at < e.last_seen
UNION ALL
SELECT e.id AS distribution_id, e.repository AS repo_id, e.ecosystem, e.package AS package_name,
    e.version_count, e.first_published_at, e.latest_published_at, e.source, e.attributes AS extra,
    'gleaner' AS tool_source, CAST(e.collector_version AS TEXT) AS tool_version,
    e.last_seen AS data_collection_date, e.version, e.path
FROM evidence e
WHERE e.gone_at IS NOT NULL AND e.changed_at < e.last_seen;

CREATE VIEW repo_distribution_manifest AS
SELECT m.id AS manifest_id, m.repository AS repo_id, m.path AS manifest_path, m.manifest_type,
    COALESCE(m.name, '') AS package_name_declared,
    'gleaner' AS tool_source, CAST(m.collector_version AS TEXT) AS tool_version,
    m.last_seen AS data_collection_date, m.effective_name, m.version, m.intent, m.reason, m.place, m.error, m.source
FROM manifest m
WHERE m.gone_at IS NULL;

CREATE VIEW repo_distribution_manifest_history AS
SELECT m.id AS manifest_id, m.repository AS repo_id, m.path AS manifest_path, h.manifest_type,
    COALESCE(h.name, '') AS package_name_declared,
    'gleaner' AS tool_source, CAST(h.collector_version AS TEXT) AS tool_version,
    h.seen_from AS data_collection_date, h.effective_name, h.version, h.intent, h.reason, h.place, h.error, m.source
FROM manifest_history h JOIN manifest m ON m.id = h.manifest
UNION ALL
SELECT m.id AS manifest_id, m.repository AS repo_id, m.path AS manifest_path, h.manifest_type,
    COALESCE(h.name, '') AS package_name_declared,
    'gleaner' AS tool_source, CAST(h.collector_version AS TEXT) AS tool_version,
    h.seen_until AS data_collection_date, h.effective_name, h.version, h.intent, h.reason, h.place, h.error, m.source
FROM manifest_history h JOIN manifest m ON m.id = h.manifest
WHERE h.seen_from < h.seen_until
UNION ALL
SELECT m.id AS manifest_id, m.repository AS repo_id, m.path AS manifest_path, m.manifest_type,
    COALESCE(m.name, '') AS package_name_declared,
    'gleaner' AS tool_source, CAST(m.collector_version AS TEXT) AS tool_version,
    m.changed_at AS data_collection_date, m.effective_name, m.version, m.intent, m.reason, m.place, m.error, m.source
FROM manifest m
WHERE m.gone_at IS NOT NULL OR m.changed_at < m.last_seen
UNION ALL
SELECT m.id AS manifest_id, m.repository AS repo_id, m.path AS manifest_path, m.manifest_type,
    COALESCE(m.name, '') AS package_name_declared,
    'gleaner' AS tool_source, CAST(m.collector_version AS TEXT) AS tool_version,
    m.last_seen AS data_collection_date, m.effective_name, m.version, m.intent, m.reason, m.place, m.error, m.source
FROM manifest m
WHERE m.gone_at IS NOT NULL AND m.changed_at < m.last_seen;
