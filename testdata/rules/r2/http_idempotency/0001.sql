CREATE TABLE idempotency_keys_of_shop (
    id                  uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    shop                text NOT NULL,
    key                 text NOT NULL,
    request_fingerprint bytea NOT NULL,
    response            bytea,
    UNIQUE (shop, key)
);
