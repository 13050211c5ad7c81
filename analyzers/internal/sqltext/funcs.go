package sqltext

import "strings"

// saysNow looks for SQLite's datetime('now') and PostgreSQL's timestamp 'now' in brackets.
func (p *parser) saysNow(open int) bool {
	lo, hi := p.inside(open)
	if lo == hi {
		return true
	}
	for i := lo; i < hi; i = p.after(i) {
		if t := p.toks[i]; t.kind == tokString && strings.EqualFold(unquote(p.src(t)), "now") {
			return true
		}
	}
	return false
}

func isNowWord(name string) bool {
	switch strings.ToLower(name) {
	case "current_timestamp", "current_date", "current_time", "localtimestamp", "localtime", "sysdate", "systimestamp",
		"utc_timestamp", "utc_date":
		return true
	}
	return false
}

func isNowFunc(name string) bool {
	switch name {
	case "now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday", "getdate", "getutcdate",
		"sysdatetime", "sysutcdatetime", "curdate", "curtime", "now64", "today", "utc_timestamp", "sysdate":
		return true
	}
	return isNowWord(name)
}

// takesNow tells the functions that give the time of the clock when they are called with 'now' or nothing.
func takesNow(name string) bool {
	switch name {
	case "datetime", "date", "time", "strftime", "julianday", "unixepoch", "unix_timestamp":
		return true
	}
	return false
}

func isRandomFunc(name string, noArguments bool) bool {
	switch name {
	case "gen_random_uuid", "uuid_generate_v1", "uuid_generate_v1mc", "uuid_generate_v4", "uuid_generate_v7", "uuidv4",
		"uuidv7", "newid", "newsequentialid", "generateuuidv4", "generateuuidv7", "gen_ulid", "gen_random_ulid",
		"random", "rand", "randomblob", "gen_random_bytes", "nextval", "uuid_short", "unique_rowid", "sys_guid",
		"random_uuid", "uuid_v4", "uuid_v7":
		return true
	case "uuid":
		return noArguments
	}
	return false
}

// keepsArguments tells the functions whose arguments are looked at one by one.
func keepsArguments(name string) bool {
	switch name {
	case "coalesce", "ifnull", "nvl", "greatest", "least", "schedule", "schedule_in_database", "create_parent",
		"create_partition", "run_maintenance", "run_maintenance_proc", "add_retention_policy", "drop_chunks", "unnest",
		"jsonb_set", "jsonb_set_lax", "json_set", "array_remove",
		"create_hypertable":
		return true
	}
	return false
}
