CREATE TABLE processed_gym_events_old (event_id uuid NOT NULL, at timestamptz NOT NULL);
ALTER TABLE processed_gym_events_old ADD PRIMARY KEY (event_id);
