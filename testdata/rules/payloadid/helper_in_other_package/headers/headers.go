// Package headers reads record headers.
package headers

import "github.com/twmb/franz-go/pkg/kgo"

// ID is the header of the event's id.
const ID = "event-id"

// Get returns the value of a header, "" when there is none.
func Get(rec *kgo.Record, name string) string {
	for i := range rec.Headers {
		if rec.Headers[i].Key == name {
			return string(rec.Headers[i].Value)
		}
	}
	return ""
}
