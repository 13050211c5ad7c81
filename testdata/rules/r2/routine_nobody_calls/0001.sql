CREATE TABLE processed_spa_events (event_id uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()); -- want-alone R-KFK-IDEM-2

CREATE FUNCTION trim_spa() RETURNS void LANGUAGE sql AS $$
    DELETE FROM processed_spa_events WHERE at < now() - interval '7 days';
$$;
