-- What forges say of repositories, and the owners that groups follow.

-- What a host runs, found out by asking it. Hosts whose name tells are not here.
CREATE TABLE forge_host (
    host {text} PRIMARY KEY NOT NULL,
    -- github, gitlab or gitea; git for a host that has nothing to ask
    forge {text} NOT NULL,
    learned_at {time} NOT NULL
){strict};

-- What its forge last said of a repository, beside what the catalogue holds.
CREATE TABLE repository_metadata (
    repository {int} PRIMARY KEY NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    -- here; missing: deleted or private, which forges do not tell apart; blocked: taken down
    presence {text} NOT NULL,
    -- public, internal or private
    visibility {text},
    fork {bool},
    -- owner and name of what it was forked from
    parent {text},
    -- without a commit
    empty {bool},
    -- the last push, or the last activity where the forge tells no better
    pushed_at {time},
    -- who said so last, and when
    source {text} NOT NULL,
    observed_at {time} NOT NULL
){strict};

-- Every change of it that was noticed.
CREATE TABLE repository_event (
    id {id},
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    -- renamed, transferred, archived, unarchived, missing, blocked, returned, default-branch,
    -- visibility, fork, parent, empty
    what {text} NOT NULL,
    was {text},
    became {text},
    source {text} NOT NULL,
    observed_at {time} NOT NULL
){strict};
CREATE INDEX repository_event_repository ON repository_event (repository, id);

-- Owners on forges whose repositories a group keeps up with.
CREATE TABLE repo_group_source (
    id {id},
    repo_group {int} NOT NULL REFERENCES repo_group (id) ON DELETE CASCADE,
    -- host and owner in lower case
    key {text} NOT NULL,
    host {text} NOT NULL,
    owner {text} NOT NULL,
    -- whether forks and archived repositories are wanted
    forks {bool} NOT NULL,
    archived {bool} NOT NULL,
    added_at {time} NOT NULL,
    UNIQUE (repo_group, key)
){strict};

CREATE TABLE repo_group_source_member (
    source {int} NOT NULL REFERENCES repo_group_source (id) ON DELETE CASCADE,
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    -- it is in the group because of the source, and leaves it with the source
    joined {bool} NOT NULL,
    -- the beginning of the last listing that named it
    listed_at {time} NOT NULL,
    PRIMARY KEY (source, repository)
){strict};
CREATE INDEX repo_group_source_member_repository ON repo_group_source_member (repository);
