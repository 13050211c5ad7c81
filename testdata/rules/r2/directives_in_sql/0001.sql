-- want-alone-below idemlint
-- idemlint:ignore R-KFK-IDEM-2
CREATE TABLE processed_pier_events (event_id uuid PRIMARY KEY, at timestamptz NOT NULL);
SELECT cron.schedule('pier', '@daily', $$DELETE FROM processed_pier_events WHERE at < now() - interval '7 days'$$);

-- want-alone-below idemlint
-- idemlint:ignore dedupsql nothing is wrong with this table
CREATE TABLE piers (id bigint PRIMARY KEY);
