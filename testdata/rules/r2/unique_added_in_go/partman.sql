SELECT partman.create_parent(p_parent_table := 'public.processed_lift_events', p_control := 'seen_on', p_interval := '1 month');
UPDATE partman.part_config SET retention = '3 months', retention_keep_table = false WHERE parent_table = 'public.processed_lift_events';
