-- What is watched, and by which names it goes.

CREATE TABLE repository (
    id {id},
    -- github, gitlab, gitea, bitbucket, git or local; a guess by host until somebody knows better
    forge {text} NOT NULL,
    -- with the port where it is not the usual one; empty for a local repository
    host {text} NOT NULL,
    -- any depth, in the case people write it
    owner {text} NOT NULL,
    name {text} NOT NULL,
    -- equal when the repository is; '#' and the id follow when the name was taken over by another
    key {text} NOT NULL UNIQUE,
    -- owner/name and name in lower case, for looking up only
    slug_key {text} NOT NULL,
    name_key {text} NOT NULL,
    -- the forge's own number, which survives renames
    forge_id {text},
    url {text} NOT NULL,
    local {bool} NOT NULL,
    archived {bool} NOT NULL,
    default_branch {text},
    added_at {time} NOT NULL,
    -- when the forge first answered that it is not there
    gone_at {time}
){strict};
CREATE UNIQUE INDEX repository_forge_id ON repository (host, forge_id) WHERE forge_id IS NOT NULL;
CREATE INDEX repository_slug_key ON repository (slug_key);
CREATE INDEX repository_name_key ON repository (name_key);

-- Former names, so that an old address still finds the repository.
CREATE TABLE repository_name (
    key {text} PRIMARY KEY NOT NULL,
    slug_key {text} NOT NULL,
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    url {text} NOT NULL,
    until {time} NOT NULL
){strict};
CREATE INDEX repository_name_repository ON repository_name (repository);
CREATE INDEX repository_name_slug_key ON repository_name (slug_key);

CREATE TABLE repo_group (
    id {id},
    key {text} NOT NULL UNIQUE,
    name {text} NOT NULL,
    added_at {time} NOT NULL
){strict};

CREATE TABLE repo_group_member (
    repo_group {int} NOT NULL REFERENCES repo_group (id) ON DELETE CASCADE,
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    added_at {time} NOT NULL,
    PRIMARY KEY (repo_group, repository)
){strict};
CREATE INDEX repo_group_member_repository ON repo_group_member (repository);

CREATE TABLE contributor (
    id {id},
    -- the comparable form of the address they were first known by
    key {text} NOT NULL UNIQUE,
    name {text},
    added_at {time} NOT NULL
){strict};

CREATE TABLE contributor_address (
    key {text} PRIMARY KEY NOT NULL,
    contributor {int} NOT NULL REFERENCES contributor (id) ON DELETE CASCADE,
    address {text} NOT NULL,
    first_seen {time} NOT NULL,
    last_seen {time} NOT NULL
){strict};
CREATE INDEX contributor_address_contributor ON contributor_address (contributor);
