-- name: MarkReceived :execrows
INSERT INTO received_ride_messages (message_id) -- want-alone R-KFK-IDEM-2
VALUES ($1);

-- name: DeleteReceived :exec
DELETE FROM received_ride_messages WHERE received_at < $1;
