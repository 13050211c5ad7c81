// Package yard starts the announcer of ferries with makers of ids.
package yard

import (
	"context"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r1/maker_through_constructor/ferries"
)

func Start(ctx context.Context, w *kafka.Writer) error {
	random := ferries.NewAnnouncer(w, uuid.NewString) // want R-KFK-IDEM-1
	if err := random.Announce(ctx, "Aran"); err != nil {
		return err
	}
	literal := ferries.NewAnnouncer(w, func() string { return uuid.New().String() }) // want R-KFK-IDEM-1
	if err := literal.Announce(ctx, "Inis"); err != nil {
		return err
	}
	sorted := ferries.NewAnnouncer(w, func() string { return uuid.Must(uuid.NewV7()).String() })
	return sorted.Announce(ctx, "Bere")
}

// Serve hands the announcer on to others, who call it.
func Serve(w *kafka.Writer) *ferries.Announcer {
	return ferries.NewAnnouncer(w, ferries.ID) // want R-KFK-IDEM-1
}
