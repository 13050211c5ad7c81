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
