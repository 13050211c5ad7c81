package testpg

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"testing"
)

func message(kind byte, body string) []byte {
	m := []byte{kind, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(m[1:], uint32(4+len(body)))
	return append(m, body...)
}

func TestCommitsAreToldFromOtherMessages(t *testing.T) {
	for _, c := range []struct {
		name    string
		message []byte
		commit  bool
	}{
		{"simple", message('Q', "commit\x00"), true},
		{"upper case with a blank before", message('Q', " \n COMMIT\x00"), true},
		{"prepared", message('P', "name\x00commit\x00\x00\x00"), true},
		{"prepared without a name", message('P', "\x00COMMIT WORK\x00\x00\x00"), true},
		{"after another statement", message('Q', "close x; COMMIT;\x00"), true},
		{"before another statement", message('Q', "commit; select 1\x00"), false},
		{"another statement", message('Q', "SELECT 'commit'\x00"), false},
		{"rollback", message('Q', "rollback\x00"), false},
		{"a statement named commit", message('P', "commit\x00SELECT 1\x00\x00\x00"), false},
		{"another message", message('X', "commit\x00"), false},
		{"a cut-off parse", message('P', "commit"), false},
		{"nothing", message('Q', ""), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := isCommit(c.message); got != c.commit {
				t.Errorf("isCommit = %v, want %v", got, c.commit)
			}
		})
	}
}

// A proxy that changes nothing hands on exactly what it read.
func FuzzMessagesAreHandedOnUnchanged(f *testing.F) {
	f.Add(message('Q', "commit\x00"), true)
	f.Add(append(message('C', "COMMIT\x00"), message('Z', "I")...), true)
	f.Add([]byte{0, 0, 0, 8, 4, 210, 22, 47}, false)
	f.Add([]byte{'Q', 0xff, 0xff, 0xff, 0xff}, true)
	f.Add([]byte{'Q', 0, 0, 0, 3}, true)
	f.Fuzz(func(t *testing.T, wire []byte, typed bool) {
		s := &stream{r: bufio.NewReader(bytes.NewReader(wire))}
		var out []byte
		for {
			m, err := s.read(typed)
			if err != nil {
				break
			}
			if typed {
				_ = isCommit(m)
			}
			out = append(out, m...)
		}
		if !bytes.HasPrefix(wire, out) {
			t.Errorf("read %q as %q", wire, out)
		}
	})
}
