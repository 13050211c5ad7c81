-- page:begin
CREATE TABLE processed_stock_event (
    event_id       uuid        NOT NULL, -- UUID v7: begins with the time it was made
    consumer_group text        NOT NULL,
    processed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, consumer_group)
) PARTITION BY RANGE (event_id);

CREATE TABLE processed_stock_event_2026_11 PARTITION OF processed_stock_event
    FOR VALUES FROM ('01a19467-e800-0000-0000-000000000000') TO ('01a22ee6-b000-0000-0000-000000000000');
-- page:end

DROP TABLE processed_stock_event_2026_11;
