CREATE TABLE account (
    id      text PRIMARY KEY,
    balance bigint NOT NULL DEFAULT 0
);

CREATE TABLE ledger_entry (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account   text   NOT NULL REFERENCES account (id),
    reference text   NOT NULL,
    amount    bigint NOT NULL
);

CREATE TABLE processed_event (
    event_id     text PRIMARY KEY,
    processed_at timestamptz NOT NULL DEFAULT now()
);
