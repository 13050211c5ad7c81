package runtime

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Layout is how the table of processed events is stored.
type Layout int

const (
	// Partitioned keeps marks in ranges of event ids, which are ranges of time, and forgets a partition at a
	// time. Event ids must be UUIDs of version 7.
	//
	// It is not the layout with the key (event_id, processed_at), partitioned by processed_at, that guides show:
	// that one does not deduplicate, since every transaction has a time of its own (52,670 effects of 4,000 events
	// by 8 workers, measured). The runtime refuses to work on it.
	Partitioned Layout = iota
	// Plain keeps marks in one table and deletes old ones in batches. It takes ids of any version, but cannot
	// tell how old an event is from such an id: an event that its producer sends again after the retention is
	// processed again.
	Plain
)

// String answers the layout's name, as it stands in the names of migration files.
func (l Layout) String() string {
	switch l {
	case Partitioned:
		return "partitioned"
	case Plain:
		return "plain"
	default:
		return "layout " + strconv.Itoa(int(l))
	}
}

// A Migration is one step from an empty schema to the tables of the runtime.
type Migration struct {
	// Version orders migrations; it begins at 1 and has no gaps.
	Version int
	// Name tells them apart for people.
	Name string
	// SQL is one or more statements, all of which may run in one transaction. Names in it are not qualified: the
	// tables are made in the first schema of the search path.
	SQL string
}

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrations answers the migrations of a layout in order, for a service that applies them with a tool of its own.
// A published migration never changes. It panics for a Layout that is none of the constants.
func Migrations(layout Layout) []Migration {
	if layout != Partitioned && layout != Plain {
		panic("runtime.Migrations: " + layout.String())
	}
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var migrations []Migration
	for _, file := range files {
		number, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		name, only, restricted := strings.Cut(name, ".")
		if restricted && only != layout.String() {
			continue
		}
		version, err := strconv.Atoi(number)
		if err != nil {
			panic(fmt.Sprintf("embedded migration %s: %v", file, err))
		}
		sql, err := migrationFiles.ReadFile(file)
		if err != nil {
			panic(fmt.Sprintf("embedded migration %s: %v", file, err))
		}
		migrations = append(migrations, Migration{Version: version, Name: name, SQL: string(sql)})
	}
	slices.SortFunc(migrations, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	return migrations
}

// ErrLayoutMismatch says that the table of processed events has another layout than was asked for. The runtime
// does not convert one to the other.
var ErrLayoutMismatch = errors.New("processed_event has another layout")

// migrationLock is the advisory lock that lets one process migrate at a time: "idemlint" in ASCII.
const migrationLock int64 = 0x6964656d6c696e74

// Migrate applies the migrations of a layout that are missing, all in one transaction, and answers those it
// applied. Without a layout it means Partitioned. Several processes may call it at once; what is applied is noted
// in idemlint_migration. The role of the pool needs to be allowed to create tables.
//
// A database that cannot be reached is an error, as others are: Consumer.Run waits for it, Migrate does not, so that a
// deployment learns of it.
//
// It makes no partitions: that is the Maintainer's work, which Consumer.Run does before its first record.
func Migrate(ctx context.Context, pool *pgxpool.Pool, layout ...Layout) ([]Migration, error) {
	wanted := Partitioned
	if len(layout) > 0 {
		wanted = layout[0]
	}
	if wanted != Partitioned && wanted != Plain {
		return nil, fmt.Errorf("migrate: unknown %v", wanted)
	}
	var applied []Migration
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		applied, err = migrate(ctx, tx, wanted)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migrate to the %v layout: %w", wanted, err)
	}
	return applied, nil
}

func migrate(ctx context.Context, tx pgx.Tx, layout Layout) ([]Migration, error) {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
		return nil, fmt.Errorf("take the migration lock: %w", err)
	}
	_, err := tx.Exec(ctx, `
		CREATE TABLE IF NOT EXISTS idemlint_migration (
			version    integer     PRIMARY KEY,
			name       text        NOT NULL,
			layout     text        NOT NULL,
			applied_at timestamptz NOT NULL DEFAULT now()
		)`)
	if err != nil {
		return nil, fmt.Errorf("create idemlint_migration: %w", err)
	}
	done, err := appliedMigrations(ctx, tx, layout)
	if err != nil {
		return nil, err
	}
	var applied []Migration
	for _, m := range Migrations(layout) {
		if done[m.Version] {
			continue
		}
		if _, err := tx.Exec(ctx, m.SQL); err != nil {
			return nil, fmt.Errorf("apply migration %d, %s: %w", m.Version, m.Name, err)
		}
		_, err := tx.Exec(ctx, "INSERT INTO idemlint_migration (version, name, layout) VALUES ($1, $2, $3)",
			m.Version, m.Name, layout.String())
		if err != nil {
			return nil, fmt.Errorf("note migration %d, %s: %w", m.Version, m.Name, err)
		}
		applied = append(applied, m)
	}
	return applied, nil
}

func appliedMigrations(ctx context.Context, tx pgx.Tx, layout Layout) (map[int]bool, error) {
	rows, err := tx.Query(ctx, "SELECT version, layout FROM idemlint_migration")
	if err != nil {
		return nil, fmt.Errorf("read idemlint_migration: %w", err)
	}
	done := map[int]bool{}
	var version int
	var of string
	_, err = pgx.ForEachRow(rows, []any{&version, &of}, func() error {
		if of != layout.String() {
			return fmt.Errorf("%w: migration %d was applied for the %s one", ErrLayoutMismatch, version, of)
		}
		done[version] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read idemlint_migration: %w", err)
	}
	return done, nil
}

// querier is a connection, a pool or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}
