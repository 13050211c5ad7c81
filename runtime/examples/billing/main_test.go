package main

import (
	"log/slog"
	"os"
	"strings"
	"testing"
)

// TestEveryOrderIsChargedAndBookedOnce runs the demonstration, a small one, and checks its figures. It uses the
// brokers and the database that the environment names, if it does.
func TestEveryOrderIsChargedAndBookedOnce(t *testing.T) {
	d := demo{orders: 60, duplicates: 0.28, trouble: 0.25, logger: slog.New(slog.DiscardHandler)}
	o, err := d.run(t.Context(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", o)
	if o.Orders != 60 || o.Processed != 60 || o.Charges != 60 || o.LedgerEntries != 60 {
		t.Errorf("%d orders, %d processed, %d charges and %d ledger entries, want 60 of each", o.Orders, o.Processed, o.Charges, o.LedgerEntries)
	}
	if o.OrderSum == 0 || o.Charged != o.OrderSum || o.LedgerSum != o.OrderSum {
		t.Errorf("orders are for %d cents, %d were charged and %d booked, want one sum", o.OrderSum, o.Charged, o.LedgerSum)
	}
	if o.Records <= o.Orders || o.DuplicatesSkipped != int64(o.Records-o.Orders) {
		t.Errorf("%d duplicates of %d records were skipped, want those beyond the %d orders, and some", o.DuplicatesSkipped, o.Records, o.Orders)
	}
	if o.AnswersLost == 0 || o.Requests < o.Charges+o.AnswersLost {
		t.Errorf("%d requests with %d answers lost made %d charges: nothing was tried again", o.Requests, o.AnswersLost, o.Charges)
	}
}

func TestTheOutcomeTellsAllItsFigures(t *testing.T) {
	text := outcome{
		Orders: 1, Records: 2, Processed: 3, DuplicatesSkipped: 4, Requests: 5, AnswersLost: 6, Charges: 7, Charged: 801, LedgerEntries: 9, LedgerSum: 1002, OrderSum: 1103,
	}.String()
	for _, want := range []string{"1 orders, sent in 2 records", "3 events", "4 duplicates", "5 requests", "lost 6", "7 charges, 8.01 EUR", "9 ledger entries, 10.02 EUR", "11.03 EUR"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
