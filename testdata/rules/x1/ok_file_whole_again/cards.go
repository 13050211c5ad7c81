// Package cards writes whole files, whose names and contents the event decides; its log and its scratch files tell nothing.
package cards

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Card struct {
	Holder string `json:"holder"`
	Text   string `json:"text"`
}

func decode(rec *kgo.Record) (c Card, err error) {
	err = json.Unmarshal(rec.Value, &c)
	return c, err
}

func Whole(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("/srv/cards", c.Holder+".json"), rec.Value, 0o644)
}

func Created(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	f, err := os.Create("/srv/cards/" + c.Holder)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(c)
}

func Truncated(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	f, err := os.OpenFile("/srv/cards/"+c.Holder, os.O_TRUNC|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.WriteString(f, c.Text)
	return err
}

// Scratch computes in a file that nobody keeps, and in memory.
func Scratch(ctx context.Context, rec *kgo.Record) error {
	f, err := os.CreateTemp("", "card")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	var buf bytes.Buffer
	fmt.Fprintf(io.MultiWriter(f, &buf), "%s", rec.Value)
	return f.Close()
}

func Logged(ctx context.Context, rec *kgo.Record) error {
	f, err := os.OpenFile("cards.log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s\n", rec.Value)
	return err
}
