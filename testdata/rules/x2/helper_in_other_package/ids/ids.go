// Package ids makes keys.
package ids

import "strconv"

// At names a place in a log.
func At(topic string, partition int32, pos int64) string {
	return topic + "/" + strconv.Itoa(int(partition)) + "/" + strconv.FormatInt(pos, 10)
}
