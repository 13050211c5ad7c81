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
