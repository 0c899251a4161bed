-- Answers of upstreams that carried a validator, so that asking again costs little. It may be
-- emptied at any time: what is missing is asked for in full.
CREATE TABLE http_cache (
    -- a digest of all that the answer depends on: upstream, address, form, and whose eyes it was for
    key {text} PRIMARY KEY NOT NULL,
    -- where redirects led, within the upstream: the validators belong to that address
    path {text} NOT NULL,
    etag {text},
    last_modified {text},
    -- the headers worth keeping, a JSON object
    headers {text} NOT NULL,
    -- gzip
    body {bytes} NOT NULL,
    -- of the whole row, about
    bytes {int} NOT NULL,
    stored_at {time} NOT NULL,
    -- when it last saved somebody a download, to the hour
    used_at {time} NOT NULL
){strict};
CREATE INDEX http_cache_used_at ON http_cache (used_at);
