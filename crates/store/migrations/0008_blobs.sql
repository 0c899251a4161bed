-- What forges handed over and need not be asked for again. All of it may be emptied at any time:
-- what is missing is asked for once more.

-- Contents of manifests, and of nothing else, by the id that git gives them. The id is checked
-- against the contents before they are kept, so it does not matter who handed them over.
CREATE TABLE manifest_blob (
    id {text} PRIMARY KEY NOT NULL,
    -- gzip
    body {bytes} NOT NULL,
    -- of the whole row, about
    bytes {int} NOT NULL,
    -- when it last saved somebody a download, to the day
    used_at {time} NOT NULL
){strict};
CREATE INDEX manifest_blob_used_at ON manifest_blob (used_at);

-- What an owner has in the registry of its forge: one listing serves all of its repositories.
CREATE TABLE owner_packages (
    host {text} NOT NULL,
    -- in lower case
    owner {text} NOT NULL,
    -- the listing, as JSON of the collector that made it
    listing {text} NOT NULL,
    asked_at {time} NOT NULL,
    PRIMARY KEY (host, owner)
){strict};
