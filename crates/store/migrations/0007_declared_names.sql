-- What the registries' view says of the names that a repository's manifests declare.

CREATE TABLE declared_name (
    repository {int} NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    ecosystem {text} NOT NULL,
    -- as the manifest spells it
    name {text} NOT NULL,
    -- absent: no such package; ours: it says that it comes from here; other: it does not
    verdict {text} NOT NULL,
    -- for other: where it says that it comes from; null if it does not say
    linked_repository {text},
    checked_at {time} NOT NULL,
    PRIMARY KEY (repository, ecosystem, name)
){strict};
