-- What may be forgotten: nothing that any of these groups may still get again. A group that is gone for good holds
-- its marks until its row is deleted.
CREATE TABLE processed_event_group (
    consumer_group     text        PRIMARY KEY,
    retention          interval    NOT NULL,
    redelivery         interval    NOT NULL,
    -- How far ahead of the clock the group accepts event ids.
    skew               interval    NOT NULL,
    -- The oldest event that an uncommitted offset may still bring; null while nobody knows.
    oldest_uncommitted timestamptz,
    reported_at        timestamptz NOT NULL DEFAULT now()
);

-- What is forgotten: marks of events made before dropped_before are gone or going. It only ever rises.
CREATE TABLE processed_event_horizon (
    singleton      boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    dropped_before timestamptz NOT NULL DEFAULT '-infinity',
    raised_at      timestamptz NOT NULL DEFAULT now()
);
INSERT INTO processed_event_horizon DEFAULT VALUES;
