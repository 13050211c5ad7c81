-- migration 1: processed_event
-- A mark for every event that a consumer group has processed. A UUID v7 sorts by the time it was made, so a range
-- of ids is a range of time: the key stays unique over all partitions, and old marks go a partition at a time.
-- There must be no DEFAULT partition, and the partitions are made and dropped by the maintainer.
CREATE TABLE processed_event (
    event_id       uuid        NOT NULL,
    consumer_group text        NOT NULL,
    processed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, consumer_group)
) PARTITION BY RANGE (event_id);

-- migration 2: processed_event_upkeep
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

-- migration 3: quarantined_event
-- Records that were refused because nobody can tell whether they are repeats, whole, for a person to decide.
CREATE TABLE quarantined_event (
    id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    consumer_group   text        NOT NULL,
    topic            text        NOT NULL,
    partition_id     integer     NOT NULL,
    record_offset    bigint      NOT NULL,
    record_timestamp timestamptz NOT NULL,
    record_key       bytea,
    record_value     bytea,
    header_keys      bytea[]     NOT NULL DEFAULT '{}',
    header_values    bytea[]     NOT NULL DEFAULT '{}',
    event_id         uuid,
    reason           text        NOT NULL,
    detail           text        NOT NULL DEFAULT '',
    quarantined_at   timestamptz NOT NULL DEFAULT now(),
    -- The same record delivered again is one row. A topic that was deleted and made anew repeats offsets, hence
    -- the digest of what the record holds.
    record_digest    bytea       NOT NULL,
    UNIQUE (consumer_group, topic, partition_id, record_offset, record_timestamp, record_digest)
);
CREATE INDEX quarantined_event_event_id ON quarantined_event (event_id);

-- migration 4: outbox_message
-- Messages that transactions leave to be published, and a relay publishes. seq is the order in which they were
-- inserted, not in which they were committed: a lower one may become visible after a higher one, so whoever reads the
-- table must ask for what is unsent and must not remember where it was.
CREATE TABLE outbox_message (
    seq           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Made once, with the row: a message that is published again is published under the same id.
    id            uuid        NOT NULL UNIQUE,
    topic         text        NOT NULL,
    key           bytea,
    value         bytea,
    header_keys   bytea[]     NOT NULL DEFAULT '{}',
    header_values bytea[]     NOT NULL DEFAULT '{}',
    -- What the message was made of, where that may come again and is to be one message: a record that failed.
    source        text,
    created_at    timestamptz NOT NULL DEFAULT now(),
    sent_at       timestamptz
);
CREATE INDEX outbox_message_unsent ON outbox_message (seq) WHERE sent_at IS NULL;
CREATE INDEX outbox_message_sent ON outbox_message (sent_at) WHERE sent_at IS NOT NULL;
CREATE UNIQUE INDEX outbox_message_source ON outbox_message (source) WHERE source IS NOT NULL;

-- migration 5: call_intent
-- Calls to the world outside that a consumer group is about to make, makes, or has made without having written the
-- result. A row goes with the result: what is left for long is for a person to look at.
CREATE TABLE call_intent (
    event_id        uuid        NOT NULL,
    consumer_group  text        NOT NULL,
    step            text        NOT NULL,
    -- What the provider knows the call by.
    idempotency_key uuid        NOT NULL,
    -- What is sent, the same on every attempt. Null only before its transaction commits.
    request         json,
    -- No call was made before; the age of the key counts from here.
    began_at        timestamptz NOT NULL DEFAULT now(),
    -- Who makes the call. Another may when the lease is over.
    leased_by       uuid        NOT NULL,
    leased_until    timestamptz NOT NULL,
    -- Calls whose outcome is unknown, and what the last one failed with.
    attempts        integer     NOT NULL DEFAULT 0,
    last_error      text        NOT NULL DEFAULT '',
    -- When it was left to a person.
    parked_at       timestamptz,
    PRIMARY KEY (event_id, consumer_group, step)
);

