-- A mark for every event that a consumer group has processed, for ids that do not tell their time. Old marks are
-- deleted in batches; the block range index finds them without a cost for every insert.
CREATE TABLE processed_event (
    event_id       uuid        NOT NULL,
    consumer_group text        NOT NULL,
    processed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, consumer_group)
);
CREATE INDEX processed_event_processed_at ON processed_event USING brin (processed_at) WITH (autosummarize = on);
