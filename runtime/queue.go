package runtime

import (
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// queuedStatement is a statement whose arguments are args[from:to] of its session.
type queuedStatement struct {
	query    pgx.QueuedQuery
	from, to int
	event    int
}

// enqueue copies args: the caller may use the slice again for the next statement.
func (s *txSession) enqueue(sql string, args []any) {
	from := len(s.args)
	for _, arg := range args {
		if id, ok := arg.(uuid.UUID); ok {
			arg = s.keep(id)
		}
		s.args = append(s.args, plainArg(arg))
	}
	s.queue = append(s.queue, queuedStatement{query: pgx.QueuedQuery{SQL: sql}, from: from, to: len(s.args), event: s.event})
}

// idChunk is for how many ids keep allocates at once.
const idChunk = 64

// keep is plainArg for an id, by a pointer, which costs less than a value of its own. The
// memory is not used again: a tracer of the connection may look at it later.
func (s *txSession) keep(id uuid.UUID) *pgtype.UUID {
	if len(s.ids) == cap(s.ids) {
		s.ids = make([]pgtype.UUID, 0, idChunk)
	}
	s.ids = append(s.ids, pgtype.UUID{Bytes: id, Valid: true})
	return &s.ids[len(s.ids)-1]
}

// use takes the queue's memory from a lane, and giveBack returns it.
func (s *txSession) use(mem *scratch) { s.queue, s.args = mem.queue[:0], mem.args[:0] }

func (s *txSession) giveBack(mem *scratch) {
	s.drop()
	mem.queue, mem.args = s.queue, s.args
	s.queue, s.args = nil, nil
	s.over = true
}

// drop empties the queue.
func (s *txSession) drop() {
	clear(s.args)
	s.queue, s.args = s.queue[:0], s.args[:0]
}

// plainArg returns an event's id, or a slice of them, in the type for which pgx has
// a codec. It takes pgx a dozen allocations an id to find out how to encode the
// other as a uuid; as anything else both are encoded by their text.
func plainArg(arg any) any {
	switch arg := arg.(type) {
	case uuid.UUID:
		return pgtype.UUID{Bytes: arg, Valid: true}
	case []uuid.UUID:
		if arg == nil {
			return arg // NULL
		}
		ids := make([]pgtype.UUID, len(arg))
		for i, id := range arg {
			ids[i] = pgtype.UUID{Bytes: id, Valid: true}
		}
		return ids
	default:
		return arg
	}
}

// plainArgs is plainArg for all, in a new slice if there is anything to do.
func plainArgs(args []any) []any {
	plain := args
	for i, arg := range args {
		switch arg.(type) {
		default:
			continue
		case uuid.UUID, []uuid.UUID:
		}
		if &plain[0] == &args[0] {
			plain = slices.Clone(args)
		}
		plain[i] = plainArg(arg)
	}
	return plain
}
