CREATE TABLE received_ride_messages (
    message_id  uuid PRIMARY KEY,
    received_at timestamptz NOT NULL DEFAULT now()
);
