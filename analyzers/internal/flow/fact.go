package flow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// Summary is the fact of a package: its functions, and those it needs of its dependencies. An empty one says only that
// the package belongs to a library the tables describe, or that the stand-alone command collects the summaries.
type Summary struct{ Data []byte }

// AFact marks Summary as a fact.
func (*Summary) AFact() {}

// String says how large the summary is.
func (s *Summary) String() string { return fmt.Sprintf("summary(%d bytes)", len(s.Data)) }

// packed is an encoded unit in a summary. A package hands on those of its dependencies as they came: most packages hold
// nothing that a rule asks about, and never look into them.
type packed struct {
	path string
	kind packedKind
	data []byte
}

// packedKind is what is to be known of a unit before it is decoded.
type packedKind byte

const (
	packedEmpty    packedKind = 1 << iota // it has no functions: its importers get it, and their dependants have no use for it
	packedConcerns                        // see [concerns]
)

func pack(u *Unit, tables *know.Tables) (packed, error) {
	data, err := EncodeUnits([]*Unit{u})
	if err != nil {
		return packed{}, err
	}
	p := packed{path: u.Path, data: data}
	if len(u.Funcs) == 0 {
		p.kind |= packedEmpty
	}
	if concerns(u, tables) {
		p.kind |= packedConcerns
	}
	return p, nil
}

// facts are the units that a package's imports hand on, each once, in the order of the imports.
type facts struct {
	units []packed
	at    map[string][]int // by path; there are several where a package was compiled for a test, too
}

// add takes over what a summary holds.
func (f *facts) add(s Summary) error {
	for rest := s.Data; len(rest) > 0; {
		u, more, err := cutUnit(rest)
		if err != nil {
			return err
		}
		rest = more
		known := f.at[u.path]
		if slices.ContainsFunc(known, func(i int) bool { return bytes.Equal(f.units[i].data, u.data) }) {
			continue
		}
		if f.at == nil {
			f.at = make(map[string][]int)
		}
		f.at[u.path] = append(known, len(f.units))
		f.units = append(f.units, u)
	}
	return nil
}

// export is what dependants need: the package's own unit, and those of its dependencies that have functions.
func export(own packed, deps []packed) *Summary {
	s := new(Summary)
	s.append(own)
	for _, u := range slices.SortedStableFunc(slices.Values(deps), func(a, b packed) int { return strings.Compare(a.path, b.path) }) {
		if u.kind&packedEmpty == 0 {
			s.append(u)
		}
	}
	return s
}

func (s *Summary) append(u packed) {
	s.Data = append(s.Data, byte(u.kind))
	for _, part := range [][]byte{[]byte(u.path), u.data} {
		s.Data = append(binary.AppendUvarint(s.Data, uint64(len(part))), part...)
	}
}

// cutUnit takes the first unit off a summary, which has a byte at least.
func cutUnit(from []byte) (u packed, rest []byte, err error) {
	u.kind, rest = packedKind(from[0]), from[1:]
	for i := range 2 {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			return u, nil, errShort
		}
		end := size + int(n)
		if i == 0 {
			u.path = string(rest[size:end])
		} else {
			u.data = rest[size:end:end]
		}
		rest = rest[end:]
	}
	return u, rest, nil
}
