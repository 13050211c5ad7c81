CREATE TABLE processed_event_cursor (
    consumer_group text        PRIMARY KEY,
    position       bigint      NOT NULL,
    reported_at    timestamptz NOT NULL DEFAULT now()
);
