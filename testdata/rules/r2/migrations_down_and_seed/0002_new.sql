-- +goose Up
CREATE TABLE processed_gym_events (
    event_id uuid NOT NULL,
    gym      text NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT once UNIQUE (gym, event_id)
);
INSERT INTO processed_gym_events SELECT event_id, 'main', at FROM processed_gym_events_old;
INSERT INTO processed_gym_events (event_id, gym) VALUES ('00000000-0000-0000-0000-000000000000', 'test');
DROP TABLE processed_gym_events_old;

-- +goose StatementBegin
CREATE FUNCTION trim_gym() RETURNS void LANGUAGE sql AS $$
    DELETE FROM processed_gym_events WHERE at < now() - interval '7 days';
$$;
-- +goose StatementEnd
SELECT cron.schedule('trim', '@daily', 'SELECT trim_gym()');

-- +goose Down
DROP TABLE processed_gym_events;
CREATE TABLE processed_gym_events (event_id uuid);
