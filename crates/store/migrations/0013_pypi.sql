-- A Python index: its projects, their files, what the files hold, and how far the index is followed.

-- How far the index is known. One row: a store follows one index.
CREATE TABLE pypi_index (
    id {int} PRIMARY KEY NOT NULL,
    -- the serial of the index before the last full crawl began, or the one that was given
    floor {int},
    full_began_at {time},
    full_finished_at {time},
    -- projects that the last full crawl asked for, and those of them that it did not get
    full_projects {int} NOT NULL,
    full_failed {int} NOT NULL,
    -- the newest serial that the index was seen to have, and when
    seen {int},
    seen_at {time},
    -- up to here every change is known, but for the projects that are still due
    safe {int},
    safe_at {time},
    -- how the index is followed: changelog, serials or pages
    followed_by {text},
    audit_at {time},
    audit_projects {int},
    audit_drift {int},
    -- the last number that was given to a change
    last_seq {int} NOT NULL,
    -- bytes in pypi_kept
    kept {int} NOT NULL
){strict};
INSERT INTO pypi_index (id, full_projects, full_failed, last_seq, kept) VALUES (1, 0, 0, 0, 0);

CREATE TABLE pypi_project (
    id {id},
    -- normalised
    name {text} NOT NULL UNIQUE,
    -- as the index spells it
    shown {text} NOT NULL,
    -- active, archived, quarantined, deprecated or what else the index says; gone when it has no page
    status {text} NOT NULL,
    status_reason {text},
    -- of the page that was read last; none where pages tell none
    serial {int},
    -- the page must be at least as new as this
    required {int},
    -- over all that the page says of files
    digest {text},
    files {small} NOT NULL,
    asked_at {time},
    changed_at {time},
    gone_at {time}
){strict};
-- Projects whose last page was too old, or that were not read since they changed.
CREATE INDEX pypi_project_due ON pypi_project (required) WHERE required IS NOT NULL;

-- Every file that the index was ever seen to list. Rows stay when files go.
CREATE TABLE pypi_files (
    id {id},
    -- its place in the sequence of changes; another one with every change
    change_seq {int},
    -- it changed since it got its number
    unnumbered {bool} NOT NULL,
    -- of the project, normalised
    project {text} NOT NULL,
    version {text} NOT NULL,
    filename {text} NOT NULL,
    -- wheel, egg, sdist or installer; other for what is none of them
    kind {text} NOT NULL,
    url {text} NOT NULL,
    upload_time {time},
    size {int},
    sha256 {text},
    -- of the file's metadata beside it: the digest, empty where none is told, none where there is no such file
    metadata_sha256 {text},
    requires_python {text},
    -- why it was yanked, empty without a reason; none for a file that is not
    yanked {text},
    removed {bool} NOT NULL,
    quarantined {bool} NOT NULL,
    -- of the page that first listed it
    serial {int},
    -- not-yet, ok or refused
    extracted {text} NOT NULL,
    -- the word for a refusal, and the whole reason
    refusal {text},
    detail {text},
    extractor_version {int},
    extracted_at {time},
    -- how much of it came over the wire
    bytes_fetched {int},
    metadata_name {text},
    metadata_version {text},
    -- arrays in JSON; requirements as they stand in the metadata
    requires_dist {text} NOT NULL,
    extras {text} NOT NULL,
    import_names {text} NOT NULL,
    modules {text} NOT NULL,
    tags {text} NOT NULL,
    warnings {text} NOT NULL,
    first_seen {time} NOT NULL,
    changed_at {time} NOT NULL,
    UNIQUE (project, filename)
){strict};
CREATE UNIQUE INDEX pypi_files_change ON pypi_files (change_seq) WHERE change_seq IS NOT NULL;
CREATE INDEX pypi_files_unnumbered ON pypi_files (id) WHERE unnumbered;
CREATE INDEX pypi_files_refused ON pypi_files (refusal, id) WHERE refusal IS NOT NULL;
CREATE INDEX pypi_files_extracted ON pypi_files (extracted, extractor_version);

-- The parts of files that were fetched to read them, so that they can be read again.
CREATE TABLE pypi_kept (
    file {int} PRIMARY KEY NOT NULL REFERENCES pypi_files (id) ON DELETE CASCADE,
    -- of which bytes these are parts
    sha256 {text} NOT NULL,
    body {bytes} NOT NULL
){strict};

-- What happened to projects and files.
CREATE TABLE pypi_event (
    id {id},
    project {text} NOT NULL,
    -- none for what happened to the project
    filename {text},
    -- added, removed, returned, replaced, yanked, unyanked, status
    what {text} NOT NULL,
    detail {text},
    serial {int},
    observed_at {time} NOT NULL
){strict};
CREATE INDEX pypi_event_project ON pypi_event (project, id);
