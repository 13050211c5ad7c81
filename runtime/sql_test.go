package runtime

import (
	"strings"
	"testing"
)

var controlling = map[string]bool{
	"commit":                           true,
	" COMMIT ":                         true,
	"commit;":                          true,
	"End":                              true,
	"abort":                            true,
	"begin":                            true,
	"START TRANSACTION":                true,
	"rollback":                         true,
	"ROLLBACK AND CHAIN":               true,
	"rollback work":                    true,
	"prepare transaction 'x'":          true,
	"select 1; commit":                 true,
	"select 1;\n\tROLLBACK;":           true,
	"/* why */ commit":                 true,
	"-- why\ncommit":                   true,
	"select 1; -- why\n /* x */commit": true,
	"/* a /* b */ c */ commit":         true,
	"-- why\rcommit":                   true,
	"select 'a;b'; commit":             true,
	`select e'\'; x'; commit`:          true,
	"do $x$ $$; $$ $x$; commit":        true,
	"close all":                        true,
	"rollback transaction":             true,
	"rollback work to a":               false,
	"close idle":                       false,
	"do $$ begin perform 1; end $$":    false,
	"select 'fees; end of month'":      false,
	`select e'\'; end'`:                false,
	`select "x; commit"`:               false,
	"select 1 /* ; end */ -- ; commit": false,
	"select $1; select a$b$ from c":    false,
	"select $x$; commit":               false,
	"select '; commit":                 false,
	"create function f() returns int begin atomic select 1; end": false,
	"rollback to savepoint a":                                    false,
	"ROLLBACK TO a":                                              false,
	"savepoint a":                                                false,
	"release a":                                                  false,
	"prepare p as select 1":                                      false,
	"insert into t values ('commit')":                            false,
	"select commit from t":                                       false,
	"update t set x = 'a' where b":                               false,
	"":                                                           false,
	";;":                                                         false,
}

func TestTransactionControlIsRecognised(t *testing.T) {
	for sql, want := range controlling {
		if got := controlsTransaction(sql); got != want {
			t.Errorf("controlsTransaction(%q) is %t, want %t", sql, got, want)
		}
	}
}

func FuzzTransactionControlIsRecognisedBehindAnything(f *testing.F) {
	for sql := range controlling {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, before string) {
		if strings.ContainsAny(before, `'"$/-`) || strings.Contains(strings.ToLower(before), "atomic") {
			t.Skip() // may quote or comment out what follows
		}
		if !controlsTransaction(before + ";commit") {
			t.Errorf("commit after %q was not recognised", before)
		}
	})
}

func FuzzTransactionControlIsLookedForToTheEnd(f *testing.F) {
	for sql := range controlling {
		f.Add(sql)
	}
	f.Fuzz(func(_ *testing.T, sql string) { controlsTransaction(sql) })
}
