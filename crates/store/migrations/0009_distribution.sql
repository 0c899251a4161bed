-- What follows from evidence and manifests: pairings, gaps and events.

-- How often in a row a source could not answer, and when it last could not.
ALTER TABLE source_state ADD COLUMN failures {int} NOT NULL DEFAULT 0;
ALTER TABLE source_state ADD COLUMN last_failed_at {time};

-- Whether it belongs to one person, and not to an organisation or a group: lists are had in other
-- places then.
ALTER TABLE repository_metadata ADD COLUMN of_person {bool};

-- The sources that are switched on and can be asked about a repository, as of its last pairing.
CREATE TABLE expected_source (
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    source {text} NOT NULL,
    PRIMARY KEY (repository, source)
){strict};

-- Published packages and the manifests they come from.
CREATE TABLE pairing (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    source {text} NOT NULL,
    ecosystem {text} NOT NULL,
    package {text} NOT NULL,
    purl {text},
    path {text} NOT NULL,
    -- of the manifest; empty at the top
    directory {text} NOT NULL,
    -- name, uuid, output, registry, directory, repository, resemblance or leftover
    how {text} NOT NULL,
    -- sure, likely or weak
    confidence {text} NOT NULL,
    collector_version {int} NOT NULL,
    first_seen {time} NOT NULL,
    changed_at {time} NOT NULL,
    last_seen {time} NOT NULL,
    gone_at {time},
    UNIQUE (repository, source, ecosystem, package)
){strict};

CREATE TABLE pairing_history (
    id {id},
    pairing {int} NOT NULL REFERENCES pairing (id) ON DELETE CASCADE,
    purl {text},
    path {text} NOT NULL,
    directory {text} NOT NULL,
    how {text} NOT NULL,
    confidence {text} NOT NULL,
    collector_version {int} NOT NULL,
    seen_from {time} NOT NULL,
    seen_until {time} NOT NULL,
    gone_at {time}
){strict};
CREATE INDEX pairing_history_pairing ON pairing_history (pairing);

-- Where declaring and publishing disagree. changed_at is since when with this grade, gone_at when
-- the two came to agree.
CREATE TABLE gap (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    source {text} NOT NULL,
    ecosystem {text} NOT NULL,
    -- as it is declared; where no manifest declares it, as it is published
    name {text} NOT NULL,
    -- orphan, name-differs, name-conflict, undeclared or unknown
    grade {text} NOT NULL,
    -- kept up to date, not part of the state
    purl {text},
    path {text},
    package {text},
    linked {text},
    reason {text},
    collector_version {int} NOT NULL,
    first_seen {time} NOT NULL,
    changed_at {time} NOT NULL,
    last_seen {time} NOT NULL,
    gone_at {time},
    UNIQUE (repository, source, ecosystem, name)
){strict};
CREATE INDEX gap_open ON gap (grade, id) WHERE gone_at IS NULL;

CREATE TABLE gap_history (
    id {id},
    gap {int} NOT NULL REFERENCES gap (id) ON DELETE CASCADE,
    grade {text} NOT NULL,
    purl {text},
    path {text},
    package {text},
    linked {text},
    reason {text},
    collector_version {int} NOT NULL,
    seen_from {time} NOT NULL,
    seen_until {time} NOT NULL,
    gone_at {time}
){strict};
CREATE INDEX gap_history_gap ON gap_history (gap);

-- When packages appeared in a source's view of a repository, were no longer there, and came back.
-- Every row is an observation of a whole answer; an outage makes none. A source may also go on to
-- list a package and say that its registry removed it: that is a removal too. Attributes are
-- canonical text, so their members can be looked for as text.
CREATE VIEW repo_distribution_event AS
SELECT e.id AS distribution_id, e.repository AS repo_id, e.source, e.ecosystem,
    e.package AS package_name, 'appeared' AS event, e.first_seen AS observed_at
FROM evidence e
UNION ALL
SELECT e.id, e.repository, e.source, e.ecosystem, e.package, 'removed', e.gone_at
FROM evidence e
WHERE e.gone_at IS NOT NULL
  AND REPLACE(REPLACE(e.attributes, '"status":"removed"', ''), '"status":"unpublished"', '') = e.attributes
UNION ALL
SELECT s.distribution_id, s.repo_id, s.source, s.ecosystem, s.package_name,
    CASE WHEN s.here_next THEN 'reappeared' ELSE 'removed' END, s.next_from
FROM (
    -- each former state, and the one that followed it
    SELECT f.distribution_id, f.repo_id, f.source, f.ecosystem, f.package_name, f.next_from,
        f.gone_at IS NULL
          AND REPLACE(REPLACE(f.attributes, '"status":"removed"', ''), '"status":"unpublished"', '') = f.attributes AS here,
        REPLACE(REPLACE(f.next_attributes, '"status":"removed"', ''), '"status":"unpublished"', '') = f.next_attributes AS here_next
    FROM (
        SELECT e.id AS distribution_id, e.repository AS repo_id, e.source, e.ecosystem,
            e.package AS package_name, h.gone_at, h.attributes,
            COALESCE((SELECT n.seen_from FROM evidence_history n
                      WHERE n.evidence = h.evidence AND n.id > h.id ORDER BY n.id LIMIT 1),
                e.changed_at) AS next_from,
            COALESCE((SELECT n.attributes FROM evidence_history n
                      WHERE n.evidence = h.evidence AND n.id > h.id ORDER BY n.id LIMIT 1),
                e.attributes) AS next_attributes
        FROM evidence_history h JOIN evidence e ON e.id = h.evidence
    ) AS f
) AS s
WHERE s.here <> s.here_next
UNION ALL
SELECT e.id, e.repository, e.source, e.ecosystem, e.package, 'removed', h.gone_at
FROM evidence_history h JOIN evidence e ON e.id = h.evidence
WHERE h.gone_at IS NOT NULL
  AND REPLACE(REPLACE(h.attributes, '"status":"removed"', ''), '"status":"unpublished"', '') = h.attributes;

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
        FROM source_state s WHERE s.repository = r.id) END AS distribution_scan_complete
FROM repository r;

-- The sources under the words that analysts' queries use.
DROP VIEW repo_distribution;
CREATE VIEW repo_distribution AS
SELECT e.id AS distribution_id, e.repository AS repo_id, e.ecosystem, e.package AS package_name,
    e.version_count, e.first_published_at, e.latest_published_at,
    CASE e.source WHEN 'depsdev' THEN 'deps.dev' WHEN 'ecosystems' THEN 'ecosyste.ms'
        WHEN 'releases' THEN 'github_release_asset' WHEN 'packages' THEN 'github_packages'
        ELSE e.source END AS source,
    e.attributes AS extra,
    'gleaner' AS tool_source, CAST(e.collector_version AS TEXT) AS tool_version,
    e.last_seen AS data_collection_date, e.version, e.path
FROM evidence e
WHERE e.gone_at IS NULL;

DROP VIEW repo_distribution_history;
CREATE VIEW repo_distribution_history AS
SELECT s.distribution_id, s.repo_id, s.ecosystem, s.package_name, s.version_count,
    s.first_published_at, s.latest_published_at,
    CASE s.source WHEN 'depsdev' THEN 'deps.dev' WHEN 'ecosystems' THEN 'ecosyste.ms'
        WHEN 'releases' THEN 'github_release_asset' WHEN 'packages' THEN 'github_packages'
        ELSE s.source END AS source,
    s.extra, 'gleaner' AS tool_source, CAST(s.collector_version AS TEXT) AS tool_version,
    s.data_collection_date, s.version, s.path
FROM (
    SELECT e.id AS distribution_id, e.repository AS repo_id, e.ecosystem, e.package AS package_name,
        h.version_count, h.first_published_at, h.latest_published_at, e.source, h.attributes AS extra,
        h.collector_version, h.seen_from AS data_collection_date, h.version, h.path
    FROM evidence_history h JOIN evidence e ON e.id = h.evidence
    UNION ALL
    SELECT e.id, e.repository, e.ecosystem, e.package, h.version_count, h.first_published_at,
        h.latest_published_at, e.source, h.attributes, h.collector_version, h.seen_until, h.version, h.path
    FROM evidence_history h JOIN evidence e ON e.id = h.evidence
    WHERE h.seen_from < h.seen_until
    UNION ALL
    SELECT e.id, e.repository, e.ecosystem, e.package, e.version_count, e.first_published_at,
        e.latest_published_at, e.source, e.attributes, e.collector_version, e.changed_at, e.version, e.path
    FROM evidence e
    WHERE e.gone_at IS NOT NULL OR e.changed_at < e.last_seen
    UNION ALL
    SELECT e.id, e.repository, e.ecosystem, e.package, e.version_count, e.first_published_at,
        e.latest_published_at, e.source, e.attributes, e.collector_version, e.last_seen, e.version, e.path
    FROM evidence e
    WHERE e.gone_at IS NOT NULL AND e.changed_at < e.last_seen
) AS s;

-- "Which repositories declare packaging intent in a manifest but were never observed on a public
-- registry?", as it was always asked: by ecosystem alone, without names and without intent.
CREATE VIEW repo_distribution_orphan AS
SELECT r.repo_id, r.repo_owner || '/' || r.repo_name AS repo, m.manifest_type,
    m.package_name_declared, m.manifest_path
FROM repos r
JOIN repo_distribution_manifest m ON m.repo_id = r.repo_id
LEFT JOIN repo_distribution d ON d.repo_id = m.repo_id AND d.ecosystem = m.manifest_type
WHERE d.distribution_id IS NULL;

-- The better answer: by name, by intent, and only when everybody who could know has answered.
CREATE VIEW repo_distribution_gap AS
SELECT g.id AS gap_id, g.repository AS repo_id,
    CASE WHEN r.owner = '' THEN r.name ELSE r.owner || '/' || r.name END AS repo,
    g.ecosystem, g.name, g.grade, g.purl, g.path AS manifest_path, g.package AS package_name,
    g.linked AS linked_repository, g.reason, g.changed_at AS since, g.first_seen, g.last_seen
FROM gap g JOIN repository r ON r.id = g.repository
WHERE g.gone_at IS NULL;

CREATE VIEW repo_distribution_pairing AS
SELECT p.id AS pairing_id, p.repository AS repo_id, p.ecosystem, p.package AS package_name, p.purl,
    p.path AS manifest_path, p.directory, p.how, p.confidence, p.changed_at AS since, p.last_seen
FROM pairing p
WHERE p.gone_at IS NULL;
