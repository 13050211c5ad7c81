package finding

import (
	"bytes"
	"fmt"
	"os"
)

// An Offsets turns positions into byte offsets, reading each file once. The zero value is ready to use.
type Offsets struct {
	files map[string][]byte
}

// Of is the offset of a position from the begin of its file, in bytes. A position behind the end of its line is an
// error.
func (o *Offsets) Of(p Position) (int, error) {
	data, ok := o.files[p.File]
	if !ok {
		var err error
		if data, err = os.ReadFile(p.File); err != nil {
			return 0, fmt.Errorf("locating %s: %w", p, err)
		}
		if o.files == nil {
			o.files = make(map[string][]byte)
		}
		o.files[p.File] = data
	}
	start := 0
	for line := 1; line < p.Line; line++ {
		i := bytes.IndexByte(data[start:], '\n')
		if i < 0 {
			return 0, fmt.Errorf("locating %s: the file has %d lines", p, line)
		}
		start += i + 1
	}
	width := bytes.IndexByte(data[start:], '\n')
	if width < 0 {
		width = len(data) - start
	}
	if p.Line < 1 || p.Column < 1 || p.Column > width+1 {
		return 0, fmt.Errorf("locating %s: there is no such place", p)
	}
	return start + p.Column - 1, nil
}
