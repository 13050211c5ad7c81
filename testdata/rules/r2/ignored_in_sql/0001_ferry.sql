-- idemlint:ignore dedupsql a few hundred events a year, emptied by hand
CREATE TABLE processed_ferry_events (
    event_id uuid PRIMARY KEY,
    seen_at  timestamptz NOT NULL DEFAULT now()
);
