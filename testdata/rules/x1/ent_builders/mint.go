// Package mint keeps its coins with ent.
package mint

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/fixtures/x1/ent_builders/ent"
	"example.com/fixtures/x1/ent_builders/ent/coin"
	"example.com/fixtures/x1/ent_builders/ent/processedevent"
)

type Minted struct {
	EventID string `json:"event_id"`
	Owner   string `json:"owner"`
	Cents   int    `json:"cents"`
}

func decode(rec *kgo.Record) (e Minted, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

type Mint struct{ db *ent.Client }

func inTx(ctx context.Context, client *ent.Client, fn func(tx *ent.Tx) error) error {
	tx, err := client.Tx(ctx)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		if rerr := tx.Rollback(); rerr != nil {
			err = fmt.Errorf("%w: %v", err, rerr)
		}
		return err
	}
	return tx.Commit()
}

func (m *Mint) Plain(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = m.db.Coin.Create().SetOwner(e.Owner).SetCents(e.Cents).SetState("new").Save(ctx)
	return err
}

func (m *Mint) Adds(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return m.db.Coin.Update().Where(coin.OwnerEQ(e.Owner)).AddCents(e.Cents).Exec(ctx)
}

func (m *Mint) Sets(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return m.db.Coin.Update().Where(coin.OwnerEQ(e.Owner)).SetState("spent").Exec(ctx)
}

func (m *Mint) ReadAdds(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	c, err := m.db.Coin.Query().Where(coin.OwnerEQ(e.Owner)).Only(ctx)
	if err != nil {
		return err
	}
	_, err = c.Update().SetCents(c.Cents + e.Cents).Save(ctx)
	return err
}

// Once leaves the mark that is there, and is told so.
func (m *Mint) Once(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return inTx(ctx, m.db, func(tx *ent.Tx) error {
		err := tx.ProcessedEvent.Create().SetEventID(e.EventID).OnConflictColumns("event_id").DoNothing().Exec(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.Coin.Update().Where(coin.OwnerEQ(e.Owner)).AddCents(e.Cents).Exec(ctx)
	})
}

// OnceAlone handles the violation of a mark that is committed by itself.
func (m *Mint) OnceAlone(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	err = m.db.ProcessedEvent.Create().SetEventID(e.EventID).Exec(ctx) // want R-KFK-IDEM-3
	if ent.IsConstraintError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.db.Coin.Update().Where(coin.OwnerEQ(e.Owner)).AddCents(e.Cents).Exec(ctx)
}

// Apart forgets the transaction for the work.
func (m *Mint) Apart(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return inTx(ctx, m.db, func(tx *ent.Tx) error {
		err := tx.ProcessedEvent.Create().SetEventID(e.EventID).OnConflictColumns("event_id").DoNothing().Exec(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return m.db.Coin.Update().Where(coin.OwnerEQ(e.Owner)).AddCents(e.Cents).Exec(ctx) // want R-KFK-IDEM-3
	})
}

// LooksFirst marks without asking what has become of it.
func (m *Mint) LooksFirst(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	seen, err := m.db.ProcessedEvent.Query().Where(processedevent.EventID(e.EventID)).Exist(ctx)
	if err != nil || seen {
		return err
	}
	return inTx(ctx, m.db, func(tx *ent.Tx) error {
		if err := tx.ProcessedEvent.Create().SetEventID(e.EventID).Exec(ctx); err != nil { // want R-KFK-IDEM-2
			return err
		}
		return tx.Coin.Update().Where(coin.OwnerEQ(e.Owner)).AddCents(e.Cents).Exec(ctx)
	})
}

// Leaves leaves the state that it names; the number of coins decides.
func (m *Mint) Leaves(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	n, err := m.db.Coin.Update().Where(coin.OwnerEQ(e.Owner), coin.StateEQ("new")).SetState("spent").Save(ctx)
	if err != nil || n == 0 {
		return err
	}
	return m.db.Coin.Create().SetOwner(e.Owner).SetCents(e.Cents).SetState("new").Exec(ctx)
}

// Asks turns back on the state in which it leaves the coin.
func (m *Mint) Asks(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	c, err := m.db.Coin.Query().Where(coin.OwnerEQ(e.Owner)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.State == "spent" {
		return nil
	}
	return inTx(ctx, m.db, func(tx *ent.Tx) error {
		if err := tx.Coin.UpdateOne(c).SetState("spent").Exec(ctx); err != nil {
			return err
		}
		return tx.Coin.Create().SetOwner(e.Owner).SetCents(e.Cents).SetState("new").Exec(ctx)
	})
}

// UpsertAdds adds to the coin that is there.
func (m *Mint) UpsertAdds(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return m.db.Coin.Create().SetOwner(e.Owner).SetCents(e.Cents).SetState("new").OnConflictColumns("owner").AddCents(e.Cents).Exec(ctx)
}

// Upserts makes it what the event says.
func (m *Mint) Upserts(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return m.db.Coin.Create().SetOwner(e.Owner).SetCents(e.Cents).SetState("new").OnConflictColumns("owner").UpdateNewValues().Exec(ctx)
}

func (m *Mint) Bulk(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var bulk []*ent.CoinCreate
	for range e.Cents {
		bulk = append(bulk, m.db.Coin.Create().SetOwner(e.Owner).SetCents(1).SetState("new"))
	}
	_, err = m.db.Coin.CreateBulk(bulk...).Save(ctx)
	return err
}

func (m *Mint) Melt(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = m.db.Coin.Delete().Where(coin.OwnerEQ(e.Owner)).Exec(ctx)
	return err
}

// Prune keeps the marks small.
func (m *Mint) Prune(ctx context.Context) error {
	_, err := m.db.ProcessedEvent.Delete().Where(processedevent.ProcessedAtLT(time.Now().AddDate(0, -1, 0))).Exec(ctx)
	return err
}

func Main(ctx context.Context, m *Mint) { go m.Prune(ctx) }
