CREATE TABLE received_trip_messages ( -- want-alone R-KFK-IDEM-2
    message_id  uuid PRIMARY KEY,
    received_at timestamptz NOT NULL DEFAULT now()
);
