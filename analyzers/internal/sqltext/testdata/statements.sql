-- Every statement here is read on its own; statements.golden says what the package sees in it. Holes are written ␀.

-- marks
INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING;
INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, 'returns')
ON CONFLICT (event_id, consumer_group) DO NOTHING RETURNING event_id;
INSERT INTO "Inbox"."ProcessedEvents" ("eventId") VALUES (:event_id) ON CONFLICT ON CONSTRAINT processed_events_pkey DO NOTHING;
INSERT IGNORE INTO `processed_event` (`event_id`, `processed_at`) VALUES (?, NOW(6));
INSERT OR IGNORE INTO processed_event (event_id) VALUES (@event_id);
INSERT OR REPLACE INTO processed_event (event_id) VALUES (?1);
REPLACE INTO processed_event (event_id) VALUES (?);
insert into %s.processed_message (message_id, processed_at) values ($1, now());
INSERT INTO ␀.processed_event (event_id) VALUES ('␀') ␀;
INSERT INTO processed_events_␀ (event_id) VALUES ('%s');
INSERT INTO {{.Schema}}.inbox_{{ .Suffix }} (event_id) VALUES ({{.ID}});
INSERT INTO processed_event (event_id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING RETURNING event_id;
INSERT INTO processed_event (event_id, consumer)
SELECT t.id, t.c FROM unnest($1::uuid[], $2::text[]) AS t(id, c) ON CONFLICT DO NOTHING;
INSERT INTO processed_event AS p (event_id, n) VALUES ($1, 1)
ON CONFLICT (event_id) WHERE consumer = 'a' DO UPDATE SET n = p.n + 1, processed_at = now() WHERE p.n < 10 RETURNING (xmax = 0) AS fresh;
INSERT INTO t (id, a, b) VALUES (gen_random_uuid(), DEFAULT, -1), (DEFAULT, 'x''y', NULL), (DEFAULT, E'a\'b', true);
INSERT INTO t SET a = ?, b = b + 1;
INSERT INTO counters (name, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n), seen = NOW();
INSERT INTO counters (name, n) VALUES (?, ?) AS new ON DUPLICATE KEY UPDATE n = new.n;
INSERT INTO t (a) OVERRIDING SYSTEM VALUE VALUES (nextval('s')) RETURNING *;
INSERT INTO t DEFAULT VALUES RETURNING id, created_at AS at;
INSERT INTO t (a, b) SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM t WHERE a = $1);
INSERT INTO events_log SETTINGS async_insert=1 VALUES (?, ?);
INSERT INTO t (a, b) VALUES (sqlc.arg(a), sqlc.narg('b'));
INSERT INTO t (␀) VALUES (␀);
INSERT LOW_PRIORITY IGNORE INTO t (a, b) VALUES (ROW(1, 2), datetime('now', '-7 days')), (date('2020-01-01'), unixepoch());
INSERT OR ABORT INTO t (a) VALUES (strftime('%s', 'NOW'));
INSERT INTO t (a) VALUES ␀;
INSERT INTO ?TableName (event_id) VALUES (?);
DELETE FROM ? WHERE ?TablePKs;
INSERT INTO counters (name, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE name = name;
INSERT INTO t (a, b;
INSERT INTO t;

-- changes
UPDATE stock SET on_hand = on_hand - $2, changed_at = now() WHERE sku = $1;
UPDATE orders SET status = 'shipped', shipped_at = $2 WHERE id = $1 AND status = 'packed' RETURNING id, status;
UPDATE contracts AS c SET signed_at = $2 FROM customers cu JOIN regions r ON r.id = cu.region AND r.code = $3 WHERE c.customer = cu.id AND c.id = $1 AND signed_at IS NULL;
UPDATE "devices_api"."user_devices" SET %s WHERE %s;
UPDATE t SET (a, b) = ($1, $2), c = (SELECT max(x) FROM u WHERE u.t = $3) WHERE id IN ($4, $5) OR ref = $6;
UPDATE a JOIN b ON a.id = b.a SET a.x = b.y WHERE b.z = ?;
UPDATE t SET meta = meta || '{"a": 1}'::jsonb, tags[1] = 'x' WHERE tags ? 'a' AND meta @> $1;
UPDATE t SET n = ␀ WHERE id = $1 ␀;
UPDATE ONLY t * SET a = 1 ORDER BY b LIMIT 5;
UPDATE t;
DELETE FROM processed_event WHERE processed_at < $1;
DELETE FROM processed_event WHERE processed_at < NOW() - INTERVAL 30 DAY LIMIT 10000;
DELETE FROM processed_event WHERE event_id IN (SELECT event_id FROM processed_event WHERE processed_at < $1 ORDER BY processed_at LIMIT $2);
DELETE FROM idempotency_keys WHERE ttl_expires_at < now() AND (state = 'done' OR state = 'failed');
DELETE FROM a USING b WHERE a.id = b.id AND now() - a.created_at > interval '1 day';
DELETE a FROM a INNER JOIN b ON a.id = b.id WHERE b.x = ?;
DELETE FROM t WHERE (topic, part) = ($1, $2) AND created_at >= $3;
DELETE FROM t x WHERE x.key = $1;
MERGE INTO stock AS s USING (SELECT $1 AS sku, $2::int AS n) v ON s.sku = v.sku
WHEN MATCHED AND v.n > 0 THEN UPDATE SET n = s.n + v.n WHEN NOT MATCHED THEN INSERT (sku, n) VALUES (v.sku, v.n);
TRUNCATE TABLE processed_event, inbox RESTART IDENTITY CASCADE;

-- common table expressions
WITH mark AS (INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id)
INSERT INTO orders (id, event_id, cents) SELECT $2, event_id, $3::int FROM mark;
WITH old AS MATERIALIZED (SELECT event_id FROM processed_event WHERE processed_at < $1 LIMIT 1000)
DELETE FROM processed_event p USING old WHERE p.event_id = old.event_id;
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r;
WITH a AS (UPDATE q SET state = 'taken' WHERE id = $1 AND state = 'new' RETURNING *) SELECT * FROM a;

-- questions
SELECT EXISTS (SELECT FROM processed_event WHERE event_id = $1);
SELECT NOT EXISTS(SELECT 1 FROM processed_event WHERE event_id = $1) AS fresh;
SELECT count(*) FROM processed_event WHERE event_id = ANY($1) AND consumer = $2;
SELECT p.event_id AS id, processed_at FROM inbox.processed_event p LEFT JOIN consumers c ON c.id = p.consumer WHERE p.event_id = $1 FOR UPDATE OF p SKIP LOCKED;
SELECT a.offset, "limit" FROM t a WHERE a.x IS NOT DISTINCT FROM $1 AND y BETWEEN $2 AND $3 GROUP BY 1, 2 HAVING count(*) > $4 ORDER BY a.x LIMIT $5 OFFSET $6;
(SELECT a FROM t WHERE x = 1 LIMIT 1) UNION ALL SELECT b FROM u WHERE y = 2;
SELECT topic, partition, offset FROM positions WHERE 1 = 1 ␀;
VALUES (1, 'a'), (2, 'b');
SELECT purge_inbox($1);
SELECT 'a;b', $tag$ c; d $tag$, /* ; /* nested ; */ */ "e;f" FROM t; -- the end;

SELECT id FROM marks WHERE topic = ? AND partition = ? AND offset = ? LIMIT 1;
INSERT INTO marks (topic, `partition`, offset, key) VALUES (?, ?, ?, ?);

-- tables
CREATE TABLE IF NOT EXISTS processed_event (
    event_id       uuid PRIMARY KEY,
    consumer_group text NOT NULL,
    processed_at   timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE processed_events (event_id uuid NOT NULL, processed_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (event_id, processed_at)) PARTITION BY RANGE (processed_at);
CREATE TABLE processed_events_2026_05 PARTITION OF processed_events FOR VALUES FROM ('2026-05-01') TO ('2026-06-01');
CREATE TABLE `idempotency_keys` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `key` varchar(200) COLLATE utf8mb4_bin NOT NULL COMMENT 'the key, once',
  `created_at` datetime DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (`id`), UNIQUE KEY `ux_key` (`key`(100)), KEY `ix_created` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE idempotency_keys (key VARCHAR(200) PRIMARY KEY, n numeric(10,2) DEFAULT 0.0 CHECK (n > 0), ref int REFERENCES r (id) ON DELETE CASCADE);
CREATE UNLOGGED TABLE inbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    event_id uuid DEFAULT gen_random_uuid() NOT NULL,
    day date GENERATED ALWAYS AS (created::date) STORED,
    CONSTRAINT ux UNIQUE NULLS NOT DISTINCT (event_id, day),
    FOREIGN KEY (event_id) REFERENCES events (id),
    CHECK (day > '2020-01-01'),
    EXCLUDE USING gist (day WITH =)
);
CREATE TEMP TABLE staged (LIKE processed_event INCLUDING ALL);
CREATE TABLE copied AS SELECT * FROM processed_event;
CREATE TABLE %s (event_id uuid, ␀);
ALTER TABLE inbox_parts ADD CONSTRAINT ux_inbox_parts UNIQUE (event_id), ADD COLUMN IF NOT EXISTS consumer text NOT NULL DEFAULT 'x';
ALTER TABLE ONLY public.inbox_parts ADD PRIMARY KEY USING INDEX ix;
ALTER TABLE inbox_parts ALTER COLUMN event_id SET DEFAULT gen_random_uuid(), ALTER a DROP DEFAULT, DROP CONSTRAINT IF EXISTS ux, DROP COLUMN b;
ALTER TABLE inbox_parts RENAME COLUMN a TO b;
ALTER TABLE inbox_parts RENAME TO inbox;
ALTER TABLE processed_events DETACH PARTITION processed_events_2026_05 CONCURRENTLY;
ALTER TABLE processed_events ATTACH PARTITION processed_events_2026_06 FOR VALUES FROM ('2026-06-01') TO ('2026-07-01');
ALTER TABLE processed_events DROP PARTITION p202605;
ALTER TABLE t OWNER TO app;
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS ux_inbox ON inbox_parts USING btree (event_id, lower(consumer)) INCLUDE (a) WHERE deleted_at IS NULL;
CREATE INDEX ON processed_event (processed_at);
DROP TABLE IF EXISTS processed_events_%s;
DROP TABLE a, b.c CASCADE;
DROP INDEX CONCURRENTLY IF EXISTS ux_inbox;

-- work for the database
SELECT cron.schedule('inbox-parts-cleanup', '15 2 * * *', $$DELETE FROM inbox_parts WHERE received_at < now() - interval '10 days'$$);
SELECT cron.schedule('0 3 * * *', 'DELETE FROM inbox WHERE day < current_date - 7');
CREATE EVENT purge ON SCHEDULE EVERY 1 DAY DO DELETE FROM inbox WHERE received_at < NOW() - INTERVAL 7 DAY;
SELECT partman.create_parent(p_parent_table => 'public.processed_events', p_control => 'processed_at', p_interval => '1 day');
SELECT add_retention_policy('inbox', INTERVAL '7 days');
CREATE OR REPLACE FUNCTION purge_inbox(keep interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM inbox WHERE received_at < now() - keep;
    EXECUTE format('DROP TABLE IF EXISTS %I', 'inbox_' || to_char(now(), 'YYYY'));
END $$;
CREATE PROCEDURE tidy() LANGUAGE plpgsql AS $x$
DECLARE n int; BEGIN
    FOR n IN SELECT 1 LOOP DELETE FROM a WHERE at < now(); END LOOP;
    IF n > 1 THEN UPDATE b SET c = 1; ELSE INSERT INTO d (e) VALUES (1); END IF;
    PERFORM f(n); EXECUTE 'DROP TABLE a_' || n;
END $x$;
DO $$ BEGIN IF true THEN ALTER TABLE inbox ADD PRIMARY KEY (event_id); END IF; END $$;

-- brackets and others
BEGIN ISOLATION LEVEL SERIALIZABLE;
START TRANSACTION;
COMMIT;
ROLLBACK TO SAVEPOINT a;
SAVEPOINT a;
CALL purge($1);
SET search_path = a, b;

-- prose and pieces
update orders: %w;
delete from the list;
insert a coin into slot;
select for update failed;
create table %s: %w;
drop table %s: %v;
WITH love from Berlin;
on conflict do nothing;
