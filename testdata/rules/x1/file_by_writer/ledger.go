// Package ledger adds its lines to files by writers of all sorts.
package ledger

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Entry struct {
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

func decode(rec *kgo.Record) (e Entry, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

func open(account string) (*os.File, error) {
	return os.OpenFile("/srv/ledger/"+account, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
}

func Line(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	f, err := open(e.Account)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s;%d\n", e.Account, e.Cents)
	return err
}

func JSON(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	f, err := open(e.Account)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(e)
}

func Copy(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	f, err := open("all")
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(f, bytes.NewReader(rec.Value))
	return err
}

func Zipped(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	f, err := open("all.gz")
	if err != nil {
		return err
	}
	defer f.Close()
	z := gzip.NewWriter(bufio.NewWriter(f))
	if _, err := z.Write(rec.Value); err != nil {
		return err
	}
	return z.Close()
}

// Book keeps its writers in fields.
type Book struct {
	rows *csv.Writer
	out  io.Writer
	enc  *json.Encoder
}

func NewBook(path string) (*Book, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	return &Book{rows: csv.NewWriter(f), out: f, enc: json.NewEncoder(os.Stdout)}, nil
}

func (b *Book) Row(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	if err := b.rows.Write([]string{e.Account, fmt.Sprint(e.Cents)}); err != nil {
		return err
	}
	b.rows.Flush()
	return b.rows.Error()
}

func (b *Book) Raw(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	_, err := b.out.Write(rec.Value)
	return err
}

// Shown prints to the standard output.
func (b *Book) Shown(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, e.Account)
	return b.enc.Encode(e)
}
