-- Mail: lists, the copies their archives hold, the messages in those copies, and what belongs together.

-- A list whose archive is read.
CREATE TABLE mail_list (
    id {id},
    -- where it comes from and its address: one list in two archives is two rows
    key {text} NOT NULL UNIQUE,
    -- pony-mail, public-inbox or import
    archive {text} NOT NULL,
    -- whose rules classify its mail: apache, lore, generic or one of the configuration
    system {text} NOT NULL,
    address {text} NOT NULL,
    -- the archive's address; none for an import
    base {text},
    -- its name within the archive
    inbox {text},
    description {text},
    -- what its mail is about, as far as somebody said so
    repo_group {int} REFERENCES repo_group (id) ON DELETE SET NULL,
    repository {int} REFERENCES repository (id) ON DELETE SET NULL,
    added_at {time} NOT NULL,
    -- the last run, and the last one that left nothing to fetch
    began_at {time},
    finished_at {time},
    failures {small} NOT NULL,
    failed_at {time},
    failure {text}
){strict};
CREATE INDEX mail_list_address ON mail_list (address);

-- How far an archive was read: one row for each month or epoch.
CREATE TABLE mail_part (
    list {int} NOT NULL REFERENCES mail_list (id) ON DELETE CASCADE,
    -- 2017-12, an epoch's number, or the file that was imported
    part {text} NOT NULL,
    -- open: there may come more; complete; incomplete: fewer came than the archive counts
    state {text} NOT NULL,
    -- what the archive says there is; none where it does not say
    expected {int},
    found {int} NOT NULL,
    -- the commit up to which it was read
    tip {text},
    read_at {time} NOT NULL,
    why {text},
    PRIMARY KEY (list, part)
){strict};

-- Every mail that an archive holds, once for each archive. A row is written when it is fetched and
-- waits as `staged` until it has become a message.
CREATE TABLE mail_copy (
    id {id},
    list {int} NOT NULL REFERENCES mail_list (id) ON DELETE CASCADE,
    part {text} NOT NULL,
    -- SHA-256 of the bytes, or the id that git gives them
    digest {text} NOT NULL,
    size {int} NOT NULL,
    -- when the archive got it, where the mail itself does not say
    envelope_at {time},
    -- staged, done, skipped (a mirror that nobody wants) or dead (it could not be written)
    state {text} NOT NULL,
    message {int},
    -- of the message, so that a list can be read by date
    sent_at {time},
    failure {text},
    staged_at {time} NOT NULL,
    UNIQUE (list, digest)
){strict};
CREATE INDEX mail_copy_staged ON mail_copy (list, id) WHERE state = 'staged';
CREATE INDEX mail_copy_aside ON mail_copy (state, list, id) WHERE state IN ('dead', 'skipped');
CREATE INDEX mail_copy_part ON mail_copy (list, part, id);
CREATE INDEX mail_copy_message ON mail_copy (message) WHERE message IS NOT NULL;
CREATE INDEX mail_copy_sent ON mail_copy (list, sent_at, message) WHERE message IS NOT NULL;

-- Mail that an archive says it removed, and in which part it says so: a removal also holds for the
-- parts before, whenever those are read again.
CREATE TABLE mail_tombstone (
    list {int} NOT NULL REFERENCES mail_list (id) ON DELETE CASCADE,
    digest {text} NOT NULL,
    part {text} NOT NULL,
    PRIMARY KEY (list, digest)
){strict};

-- The bytes of a copy, compressed.
CREATE TABLE mail_raw (
    copy {int} PRIMARY KEY NOT NULL REFERENCES mail_copy (id) ON DELETE CASCADE,
    body {bytes} NOT NULL
){strict};

-- Those who wrote, by address.
CREATE TABLE mail_sender (
    id {id},
    -- in lower case
    email {text} NOT NULL UNIQUE,
    name {text},
    -- a robot, a tracker or a list: never a person
    automation {bool} NOT NULL,
    contributor {int} REFERENCES contributor (id) ON DELETE SET NULL,
    -- how the contributor was found: noreply, address, profile, commits or email-only
    identity {text},
    -- when a forge last gave a definite answer about it
    asked_at {time}
){strict};
CREATE INDEX mail_sender_unresolved ON mail_sender (id) WHERE contributor IS NULL AND NOT automation;
CREATE INDEX mail_sender_email_only ON mail_sender (id) WHERE identity = 'email-only';
CREATE INDEX mail_sender_contributor ON mail_sender (contributor) WHERE contributor IS NOT NULL;

-- One message, whatever the number of its copies. Two contents under one id are two messages.
CREATE TABLE mail_message (
    id {id},
    message_id {text} NOT NULL,
    -- tells apart what shares an id; the same in every archive
    content {text} NOT NULL,
    -- the copy that speaks for it: the smallest, so that arrival does not matter
    speaker {text} NOT NULL,
    subject {text},
    from_field {text},
    sender {int} REFERENCES mail_sender (id),
    sent_at {time},
    -- header, received, envelope or none
    date_source {text} NOT NULL,
    in_reply_to {text},
    -- as written, oldest first; JSON
    references_chain {text} NOT NULL,
    -- what threads go by: oldest first, the message it answers last; JSON
    ancestors {text} NOT NULL,
    list_id {text},
    system {text} NOT NULL,
    -- one of the eleven, the rule that decided, and the field it looked at
    class {text} NOT NULL,
    class_rule {text} NOT NULL,
    class_source {text} NOT NULL,
    -- what it is alone and what it is in a thread with a patch, where the two differ; JSON
    verdicts {text},
    captures {text} NOT NULL,
    external_key {text},
    -- the tracker's word: Created, Resolved, …
    action {text},
    -- the repository it names: its address, the key of that, and the one we know by it
    signalled_url {text},
    signalled_key {text},
    signalled_repository {int} REFERENCES repository (id) ON DELETE SET NULL,
    -- what a mirror copies: pull or issues, its number, and the forge's id of it
    mirror_kind {text},
    mirror_number {int},
    mirror_node {text},
    has_patch {bool} NOT NULL,
    -- of an own diff: files, insertions and deletions; none without one
    patch_files {small},
    patch_insertions {int},
    patch_deletions {int},
    -- touched paths, own trailers, attachments; JSON
    patch_paths {text},
    trailers {text},
    attachments {text},
    -- how the body was split
    split_rule {small} NOT NULL,
    -- whether the body is kept
    has_body {bool} NOT NULL,
    -- issue, pr, review or mailing_list_only; none until it was looked at
    projected {text},
    issue {int},
    collected_at {time} NOT NULL,
    UNIQUE (message_id, content)
){strict};
CREATE INDEX mail_message_sender ON mail_message (sender);
CREATE INDEX mail_message_class ON mail_message (class, id);
CREATE INDEX mail_message_external_key ON mail_message (external_key, id) WHERE external_key IS NOT NULL;
CREATE INDEX mail_message_signalled ON mail_message (signalled_key) WHERE signalled_key IS NOT NULL AND signalled_repository IS NULL;
CREATE INDEX mail_message_unprojected ON mail_message (id) WHERE projected IS NULL;
CREATE INDEX mail_message_issue ON mail_message (issue) WHERE issue IS NOT NULL;

-- The readable text of a message, and how it is cut: new, quoted, signature, footer.
CREATE TABLE mail_text (
    message {int} PRIMARY KEY NOT NULL REFERENCES mail_message (id) ON DELETE CASCADE,
    body {text} NOT NULL,
    -- [[kind, start, end], …] in bytes
    spans {text} NOT NULL
){strict};

-- Every id that was ever named: of messages, and of ghosts that only others name.
CREATE TABLE mail_node (
    id {id},
    key {text} NOT NULL UNIQUE,
    seen {bool} NOT NULL,
    -- its own date; of a ghost the earliest mail that names it
    since {time},
    thread {int} NOT NULL,
    -- whom it answers, and who says so: its own word before hearsay, then the earliest witness
    parent {text},
    hearsay {bool} NOT NULL,
    witness_at {time},
    witness {text}
){strict};
CREATE INDEX mail_node_thread ON mail_node (thread);

CREATE TABLE mail_thread (
    id {id},
    -- the id of its root: of all without a parent the one first heard of
    key {text} NOT NULL,
    nodes {int} NOT NULL,
    messages {int} NOT NULL,
    first_at {time},
    last_at {time},
    -- a patch was sent in it, so that answers are reviews
    has_patch {bool} NOT NULL
){strict};
CREATE INDEX mail_thread_key ON mail_thread (key);
CREATE INDEX mail_thread_last ON mail_thread (last_at, id);

-- Only one writes threads at a time, whatever the number of resolvers.
CREATE TABLE mail_turn (
    id {int} PRIMARY KEY NOT NULL,
    taken {int} NOT NULL
){strict};
INSERT INTO mail_turn (id, taken) VALUES (1, 0);

-- Patches sent together, in their versions.
CREATE TABLE mail_series (
    id {id},
    -- of the cover letter, else of the first patch
    key {text} NOT NULL UNIQUE,
    author {text} NOT NULL,
    title {text} NOT NULL,
    version {small} NOT NULL,
    is_rfc {bool} NOT NULL,
    is_resend {bool} NOT NULL,
    total {small},
    found {small} NOT NULL,
    is_complete {bool} NOT NULL,
    cover {text},
    sent_at {time},
    -- keys of the version before and of the first one
    previous {text},
    chain {text} NOT NULL
){strict};
CREATE INDEX mail_series_author ON mail_series (author);
CREATE INDEX mail_series_chain ON mail_series (chain, version);

CREATE TABLE mail_series_member (
    series {int} NOT NULL REFERENCES mail_series (id) ON DELETE CASCADE,
    -- 0 is the cover letter
    number {small} NOT NULL,
    message_id {text} NOT NULL,
    -- taken over from the version before
    inherited {bool} NOT NULL,
    PRIMARY KEY (series, number)
){strict};
CREATE INDEX mail_series_member_message ON mail_series_member (message_id);

-- Patches as grouping reads them, and the authors whose patches are to be grouped again.
CREATE TABLE mail_patch (
    message_id {text} PRIMARY KEY NOT NULL,
    author {text} NOT NULL,
    subject {text} NOT NULL,
    sent_at {time},
    -- nearest first; JSON
    ancestors {text} NOT NULL,
    has_diff {bool} NOT NULL
){strict};
CREATE INDEX mail_patch_author ON mail_patch (author);

CREATE TABLE mail_series_due (
    author {text} PRIMARY KEY NOT NULL
){strict};

-- Full text of what was written, quotations and diffs left out.
--sqlite CREATE VIRTUAL TABLE mail_search USING fts5(subject, sender, body, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
--postgres CREATE TABLE mail_search (message BIGINT PRIMARY KEY REFERENCES mail_message (id) ON DELETE CASCADE, document TSVECTOR NOT NULL);
--postgres CREATE INDEX mail_search_document ON mail_search USING GIN (document);

-- Issues and pull requests: of a forge, or made from a tracker's mail (`platform_id` is negative).
CREATE TABLE forge_issue (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    -- issue or pull
    kind {text} NOT NULL,
    -- the forge's own number of the thing, not the one people see
    platform_id {int} NOT NULL,
    number {int} NOT NULL,
    node_id {text},
    title {text} NOT NULL,
    state {text} NOT NULL,
    created_at {time},
    updated_at {time},
    closed_at {time},
    external_key {text},
    reporter {int} REFERENCES contributor (id) ON DELETE SET NULL,
    -- github.com and the like, or JIRA
    data_source {text} NOT NULL,
    comments {int} NOT NULL,
    observed_at {time} NOT NULL,
    UNIQUE (repository, kind, platform_id)
){strict};
CREATE UNIQUE INDEX forge_issue_external_key ON forge_issue (repository, external_key) WHERE external_key IS NOT NULL;
CREATE INDEX forge_issue_number ON forge_issue (repository, number);
CREATE INDEX forge_issue_node ON forge_issue (node_id) WHERE node_id IS NOT NULL;

-- Repositories whose issues and pull requests are asked for, since mail concerns them or all are.
CREATE TABLE forge_activity (
    repository {int} PRIMARY KEY NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    wanted_at {time} NOT NULL,
    -- the last time that a forge told all there was
    answered_at {time}
){strict};

CREATE TABLE forge_issue_comment (
    issue {int} NOT NULL REFERENCES forge_issue (id) ON DELETE CASCADE,
    message {int} NOT NULL REFERENCES mail_message (id) ON DELETE CASCADE,
    PRIMARY KEY (issue, message)
){strict};
CREATE INDEX forge_issue_comment_message ON forge_issue_comment (message);

-- Views for analysts, under the names and with the columns their queries already use.

CREATE VIEW repo_groups_list_serve AS
SELECT l.id AS rgls_id, l.repo_group AS repo_group_id, COALESCE(l.inbox, l.address) AS rgls_name,
    l.description AS rgls_description, CAST(NULL AS TEXT) AS rgls_sponsor, l.address AS rgls_email,
    CASE l.archive WHEN 'pony-mail' THEN 'apache_ponymail' WHEN 'public-inbox' THEN 'lore_public_inbox'
        ELSE l.archive END AS mlls_system,
    (SELECT MAX(p.part) FROM mail_part p WHERE p.list = l.id AND p.state = 'complete') AS mlls_last_month,
    l.finished_at IS NOT NULL AS mlls_scan_complete, l.failures AS mlls_failed_attempts,
    l.failed_at AS mlls_last_failed_at, l.began_at AS mlls_last_run,
    -- leases are the engine's: see the unit mail/fetch or mail/fetch-inbox of the list
    CAST(NULL AS TEXT) AS mlls_locked_at, CAST(NULL AS TEXT) AS mlls_locked_pid,
    CAST(NULL AS TEXT) AS mlls_locked_boot_id
FROM mail_list l;

-- The list that speaks for a message in a view: of those it is on, the one known longest.
CREATE VIEW mail_message_list AS
SELECT c.message, MIN(c.list) AS list, COUNT(DISTINCT c.list) AS lists
FROM mail_copy c WHERE c.message IS NOT NULL GROUP BY c.message;

CREATE VIEW email_message AS
SELECT m.id AS email_message_id,
    COALESCE(i.repository, l.repository, (SELECT MIN(g.repository) FROM repo_group_member g WHERE g.repo_group = l.repo_group)) AS repo_id,
    l.repo_group AS repo_group_id, l.id AS rgls_id, 6 AS platform_id,
    CASE l.archive WHEN 'pony-mail' THEN 'apache_ponymail' WHEN 'public-inbox' THEN 'lore_public_inbox'
        ELSE l.archive END AS ml_system,
    m.message_id AS message_id_header, l.address AS list_address, m.list_id AS list_id_header,
    m.subject, s.email AS sender_email, m.sent_at, m.in_reply_to, m.references_chain,
    t.key AS thread_root_id, m.has_patch, m.class AS msg_class, m.class_source AS classification_source,
    m.class_rule AS classification_rule, m.class IN ('github_mirror', 'commit_notify') AS is_mirror,
    CASE WHEN m.mirror_number IS NOT NULL AND m.signalled_url IS NOT NULL
        THEN m.signalled_url || '/' || m.mirror_kind || '/' || CAST(m.mirror_number AS TEXT) END AS mirrors_url,
    m.signalled_url AS signaled_repo_url, m.signalled_repository AS signaled_repo_id,
    CASE WHEN i.kind = 'issue' THEN i.id END AS linked_issue_id,
    CASE WHEN i.kind = 'pull' THEN i.id END AS linked_pull_request_id,
    CAST(NULL AS BIGINT) AS linked_pr_review_id, m.external_key AS linked_external_key,
    CAST(NULL AS TEXT) AS linked_commit_hash, m.projected AS projected_kind,
    'gleaner' AS tool_source, CAST(m.split_rule AS TEXT) AS tool_version, l.address AS data_source,
    m.collected_at AS data_collection_date
FROM mail_message m
JOIN mail_message_list w ON w.message = m.id
JOIN mail_list l ON l.id = w.list
LEFT JOIN mail_sender s ON s.id = m.sender
LEFT JOIN mail_node n ON n.key = m.message_id
LEFT JOIN mail_thread t ON t.id = n.thread
LEFT JOIN forge_issue i ON i.id = m.issue;

CREATE VIEW messages AS
SELECT m.id AS msg_id, m.id AS platform_msg_id, 6 AS platform_id, m.message_id AS node_id,
    x.body AS msg_text, m.sent_at AS msg_timestamp, s.email AS msg_sender_email, s.contributor AS cntrb_id,
    l.id AS rgls_id, l.repo_group AS repo_group_id, l.repository AS repo_id,
    'gleaner' AS tool_source, CAST(m.split_rule AS TEXT) AS tool_version, l.address AS data_source,
    m.collected_at AS data_collection_date
FROM mail_message m
JOIN mail_text x ON x.message = m.id
JOIN mail_message_list w ON w.message = m.id
JOIN mail_list l ON l.id = w.list
LEFT JOIN mail_sender s ON s.id = m.sender;

CREATE VIEW email_message_ref AS
SELECT m.id AS email_msg_ref_id, m.id AS email_message_id, m.id AS msg_id, l.repo_group AS repo_group_id
FROM mail_message m
JOIN mail_message_list w ON w.message = m.id
JOIN mail_list l ON l.id = w.list
WHERE m.has_body;

CREATE VIEW issues AS
SELECT i.id AS issue_id, i.repository AS repo_id, i.platform_id AS platform_issue_id, i.number AS issue_number,
    i.node_id, i.title AS issue_title, i.state AS issue_state, i.created_at, i.updated_at, i.closed_at,
    COALESCE(i.external_key, '') AS external_key, i.reporter AS reporter_id, i.comments AS comment_count,
    'gleaner' AS tool_source, '1' AS tool_version, i.data_source, i.observed_at AS data_collection_date
FROM forge_issue i WHERE i.kind = 'issue';

-- Threads of patches and their review on lists that have no forge, one row for each list.
CREATE VIEW mailing_list_pr_equivalents AS
SELECT t.key AS thread_key, COALESCE(l.repository, (SELECT MIN(g.repository) FROM repo_group_member g WHERE g.repo_group = l.repo_group)) AS repo_id,
    l.address AS list_address,
    (SELECT r.subject FROM mail_node rn JOIN mail_message r ON r.message_id = rn.key
        WHERE rn.thread = t.id AND r.class IN ('patch_submission', 'review')
        ORDER BY CASE WHEN r.class = 'patch_submission' THEN 0 ELSE 1 END, r.sent_at IS NULL, r.sent_at, r.message_id LIMIT 1) AS title,
    (SELECT rs.email FROM mail_node rn JOIN mail_message r ON r.message_id = rn.key LEFT JOIN mail_sender rs ON rs.id = r.sender
        WHERE rn.thread = t.id AND r.class IN ('patch_submission', 'review')
        ORDER BY CASE WHEN r.class = 'patch_submission' THEN 0 ELSE 1 END, r.sent_at IS NULL, r.sent_at, r.message_id LIMIT 1) AS author_email,
    (SELECT rs.contributor FROM mail_node rn JOIN mail_message r ON r.message_id = rn.key LEFT JOIN mail_sender rs ON rs.id = r.sender
        WHERE rn.thread = t.id AND r.class IN ('patch_submission', 'review')
        ORDER BY CASE WHEN r.class = 'patch_submission' THEN 0 ELSE 1 END, r.sent_at IS NULL, r.sent_at, r.message_id LIMIT 1) AS author_cntrb_id,
    MIN(m.sent_at) AS created_at, MAX(m.sent_at) AS last_activity_at,
    SUM(CASE WHEN m.class = 'patch_submission' THEN 1 ELSE 0 END) AS patch_count,
    SUM(CASE WHEN m.class = 'review' THEN 1 ELSE 0 END) AS review_count,
    COUNT(DISTINCT m.sender) AS participant_count,
    (SELECT MAX(v.version) FROM mail_node vn JOIN mail_series_member vm ON vm.message_id = vn.key
        JOIN mail_series v ON v.id = vm.series WHERE vn.thread = t.id AND NOT vm.inherited) AS series_version,
    'mailing_list' AS source
FROM mail_message m
JOIN mail_node n ON n.key = m.message_id
JOIN mail_thread t ON t.id = n.thread
JOIN mail_copy c ON c.message = m.id
JOIN mail_list l ON l.id = c.list
WHERE m.class IN ('patch_submission', 'review')
GROUP BY t.id, t.key, l.id, l.address, l.repository, l.repo_group;
