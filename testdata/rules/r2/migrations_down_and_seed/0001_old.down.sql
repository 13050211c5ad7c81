DROP TABLE processed_gym_events_old;
