CREATE TABLE seal_inbox ( -- want-alone R-KFK-IDEM-2
    event_id   TEXT PRIMARY KEY,
    handled_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

---- create above / drop below ----

DROP TABLE seal_inbox;
