-- What drills write: one row per write of a drill unit. No constraint keeps
-- duplicates out, because counting them is the point.
CREATE TABLE drill_fact (
    drill {text} NOT NULL,
    number {int} NOT NULL,
    part {int} NOT NULL,
    attempt {int} NOT NULL,
    at {time} NOT NULL
){strict};
CREATE INDEX drill_fact_drill ON drill_fact (drill, number, part);
