package money

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

// BankClient is implemented elsewhere.
type BankClient interface {
	Remunerate(ctx context.Context, account string, cents int64) error
}

type Desk struct{ Bank BankClient }

type earned struct {
	EventID, Account string
	Cents            int64
}

func (d *Desk) Earned(ctx context.Context, rec *kgo.Record) error {
	var e earned
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	return d.Bank.Remunerate(ctx, e.Account, e.Cents) // want R-KFK-IDEM-4
}
