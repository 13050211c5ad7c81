INSERT INTO processed_rail_events (event_id)
VALUES ($1)
