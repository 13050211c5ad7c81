-- page:begin
CREATE TABLE processed_order_event ( -- want-alone R-KFK-IDEM-2
    event_id     uuid        NOT NULL,
    processed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, processed_at)
) PARTITION BY RANGE (processed_at);

CREATE TABLE processed_order_event_2026_11 PARTITION OF processed_order_event
    FOR VALUES FROM ('2026-11-01') TO ('2026-12-01');
-- page:end

DROP TABLE processed_order_event_2026_11;
