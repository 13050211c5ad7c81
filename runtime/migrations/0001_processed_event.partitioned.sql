-- A mark for every event that a consumer group has processed. A UUID v7 sorts by the time it was made, so a range
-- of ids is a range of time: the key stays unique over all partitions, and old marks go a partition at a time.
-- There must be no DEFAULT partition, and the partitions are made and dropped by the maintainer.
CREATE TABLE processed_event (
    event_id       uuid        NOT NULL,
    consumer_group text        NOT NULL,
    processed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, consumer_group)
) PARTITION BY RANGE (event_id);
