// Package codec has codecs.
package codec

// String is a codec of strings.
type String struct{}

// Encode encodes.
func (c *String) Encode(value any) ([]byte, error) { return []byte(value.(string)), nil }

// Decode decodes.
func (c *String) Decode(data []byte) (any, error) { return string(data), nil }
