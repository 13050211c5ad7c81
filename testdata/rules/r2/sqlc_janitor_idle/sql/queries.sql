-- name: MarkReceived :execrows
INSERT INTO received_trip_messages (message_id)
VALUES ($1) ON CONFLICT DO NOTHING;

-- name: DeleteReceived :exec
DELETE FROM received_trip_messages WHERE received_at < $1;
