-- Calls to the world outside that a consumer group is about to make, makes, or has made without having written the
-- result. A row goes with the result: what is left for long is for a person to look at.
CREATE TABLE call_intent (
    event_id        uuid        NOT NULL,
    consumer_group  text        NOT NULL,
    step            text        NOT NULL,
    -- What the provider knows the call by.
    idempotency_key uuid        NOT NULL,
    -- What is sent, the same on every attempt. Null only before its transaction commits.
    request         json,
    -- No call was made before; the age of the key counts from here.
    began_at        timestamptz NOT NULL DEFAULT now(),
    -- Who makes the call. Another may when the lease is over.
    leased_by       uuid        NOT NULL,
    leased_until    timestamptz NOT NULL,
    -- Calls whose outcome is unknown, and what the last one failed with.
    attempts        integer     NOT NULL DEFAULT 0,
    last_error      text        NOT NULL DEFAULT '',
    -- When it was left to a person.
    parked_at       timestamptz,
    PRIMARY KEY (event_id, consumer_group, step)
);
