-- Detached subprocesses: scanners that go on when the process that started them is gone.
-- Written before the start and filled in after it; ENGINE.md says what is made of it.
CREATE TABLE subprocess (
    id {id},
    unit {int} NOT NULL,
    attempt {int} NOT NULL,             -- that started it
    name {text} NOT NULL,               -- what it is
    host {text} NOT NULL,               -- the machine: only there the pid means anything
    host_name {text} NOT NULL,          -- for people
    boot {text},                        -- which boot and pid namespace; null: the host cannot tell
    pid {int},                          -- null: about to be started
    started {text},                     -- start time of the pid, as the host tells it
    directory {text} NOT NULL,          -- its own, with its output, log and exit status
    accepts {text} NOT NULL,            -- exit codes that go with a good output
    grace {int} NOT NULL,               -- seconds for which the unit stays with an absent host
    held_until {time},                  -- the unit is kept for its host until then
    wanted {bool} NOT NULL,             -- false: nobody waits for it; its host ends it and removes the row
    recorded_at {time} NOT NULL
){strict};
CREATE UNIQUE INDEX subprocess_unit ON subprocess (unit) WHERE wanted;
CREATE INDEX subprocess_host ON subprocess (host, id);
