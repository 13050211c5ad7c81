package sqltext_test

import (
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

func TestDedupTablesAreToldByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"processed_event": true, "processed_events": true, "ProcessedEvents": true, "processedEvents": true,
		"processedevents": true, "PROCESSED_EVENTS": true, "processed-events": true, "processed_message": true,
		"processed_messages": true, "processed_kafka_messages": true, "billing_processed_events": true,
		"processed_events_2026_05": true, "processed_events_\x00": true, "tbl_processed_message": true,
		"processed_ids": true, "processed_webhooks": true,
		"inbox": true, "inbox_tickets": true, "inbox_parts": true, "message_inbox": true, "kafka_inboxes": true,
		"idempotency_key": true, "idempotency_keys": true, "IdempotencyKeys": true, "idempotencykeys": true,
		"idempotent_requests": true, "consumed_map_events": true, "consumed_domain_events": true,
		"consumed_messages": true, "received_messages": true, "received_event": true, "gateway_dedup": true,
		"dedup": true, "event_deduplication": true, "dedupe_keys": true, "seen_events": true, "handled_messages": true,

		"outbox": false, "event_out_box": false, "out_box_dedup": false, "in_box_events": true, "de_dup_keys": true,
		"KAFKAInbox": true, "task_dedup": false, "outbox_events": false, "processed_outbox_events": false, "event_outbox": false,
		"inbox_queue": false, "inbox_dead_letters": false, "orders": false, "events": false, "messages": false,
		"processed_orders": false, "received_payments": false, "event_log": false, "process": false, "processing": false,
		"notification": false, "print_queue": false, "": false, "\x00": false, "box": false, "keys": false,
		"event_keys": false, "unprocessed": false, "job_inbox": false, "events_processed": false,
	} {
		if got := sqltext.IsDedupName(name); got != want {
			t.Errorf("IsDedupName(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestATableTheConfigurationNamesIsADedupTable(t *testing.T) {
	if !sqltext.IsDedupName("Ledger_Marks", "other", "ledger_marks") || sqltext.IsDedupName("ledger_marks_2", "ledger_marks") {
		t.Error("the configured name does not count, or another one does")
	}
}

func TestEventIDColumnsAreToldByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"event_id": true, "eventId": true, "EventID": true, "eventid": true, "event_uuid": true, "message_id": true,
		"msg_id": true, "messageId": true, "message_key": true, "idempotency_key": true, "idempotencyKey": true,
		"dedup_key": true, "dedupe_id": true, "deduplication_id": true, "ce_id": true, "webhook_id": true,
		"delivery_id": true, "source_event_id": true, "kafka_message_id": true,

		"id": false, "key": false, "order_id": false, "user_id": false, "event_type": false, "event_type_id": false,
		"event": false, "message": false, "processed_at": false, "consumer_group": false, "aggregate_id": false,
		"event_group_id": false, "correlation_id": false, "request_fingerprint": false, "": false,
	} {
		if got := sqltext.IsEventIDColumn(name); got != want {
			t.Errorf("IsEventIDColumn(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestABareKeyIsTheEventsOnADedupTableOnly(t *testing.T) {
	for _, c := range []struct {
		table, column string
		want          bool
	}{
		{"idempotency_keys", "key", true}, {"inbox", "id", true}, {"processed_events", "hash", true},
		{"idempotency_keys", "request_id", true}, {"inbox", "aggregate_id", false}, {"processed_message", "fingerprint", true}, {"orders", "id", false},
		{"orders", "event_id", true}, {"inbox", "consumer", false},
	} {
		if got := sqltext.IsEventIDColumnIn(sqltext.Name{Name: c.table}, c.column); got != c.want {
			t.Errorf("IsEventIDColumnIn(%q, %q) = %v, want %v", c.table, c.column, got, c.want)
		}
	}
}

func TestTimeColumnsAreToldByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"processed_at": true, "processedAt": true, "created": true, "created_on": true, "expires_at": true, "ttl": true,
		"ttl_expires_at": true, "timestamp": true, "event_time": true, "occurred_at": true, "ts": true, "date": true,
		"processed_at_ms": true, "valid_until": true, "received_ts": true,
		"id": false, "status": false, "attempts": false, "kafka_offset": false, "ms": false, "": false, "at_risk": false,
	} {
		if got := sqltext.IsTimeColumn(name); got != want {
			t.Errorf("IsTimeColumn(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestNamesMeanOneTableUnlessTheirSchemasDiffer(t *testing.T) {
	for _, c := range []struct {
		a, b sqltext.Name
		want bool
	}{
		{sqltext.Name{Name: "inbox"}, sqltext.Name{Name: "INBOX"}, true},
		{sqltext.Name{Schema: "a", Name: "inbox"}, sqltext.Name{Name: "inbox"}, true},
		{sqltext.Name{Schema: "a", Name: "inbox"}, sqltext.Name{Schema: "\x00", Name: "inbox"}, true},
		{sqltext.Name{Schema: "a", Name: "inbox"}, sqltext.Name{Schema: "b", Name: "inbox"}, false},
		{sqltext.Name{Name: "inbox"}, sqltext.Name{Name: "inboxes"}, false},
	} {
		if got := c.a.Same(c.b); got != c.want {
			t.Errorf("%v.Same(%v) = %v", c.a, c.b, got)
		}
	}
}
