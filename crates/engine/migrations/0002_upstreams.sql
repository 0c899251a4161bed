-- What services allow, per token. The arithmetic is in src/upstream/ledger.rs.
CREATE TABLE budget (
    upstream {text} NOT NULL,
    token {text} NOT NULL,              -- the name of a token, never the token; '' anonymous
    quota {int},                        -- requests in a whole window
    remaining {int},                    -- of this window, not leased to anybody; null: not limited
    reset_at {time},                    -- the next window begins
    span {int},                         -- seconds of a window
    announced {bool} NOT NULL,          -- the service said so of this window; else a guess
    held_until {time},                  -- the service wants silence for this token
    held_why {text},
    PRIMARY KEY (upstream, token)
){strict};

-- Parts of budgets that processes have leased.
CREATE TABLE budget_slice (
    upstream {text} NOT NULL,
    token {text} NOT NULL,
    holder {text} NOT NULL,             -- a process
    requests {int} NOT NULL,            -- at most so many the service has yet to count; 0: void
    expires_at {time} NOT NULL,         -- lost after this
    PRIMARY KEY (upstream, token, holder)
){strict};
