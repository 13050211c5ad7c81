package finding

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
)

// A Key tells findings apart by what they are about and not by where they stand: it stays the same when lines move, a
// file is renamed, or a package is analysed with its tests. Two findings of one function may share one.
type Key struct {
	Rule     string
	Package  string // import path
	Function string // as in [Finding.Function]
	Message  string // without places and without the rule's id
}

// Key is the finding's.
func (f Finding) Key() Key {
	return Key{Rule: f.Rule, Package: ImportPath(f.Package), Function: f.Function, Message: normalise(f.Rule, f.Message)}
}

// Fingerprint is the key as 64 hexadecimal digits.
func (k Key) Fingerprint() string {
	sum := sha256.Sum256([]byte(k.Rule + "\x00" + k.Package + "\x00" + k.Function + "\x00" + k.Message))
	return hex.EncodeToString(sum[:])
}

// Fingerprints are the findings', in their order. Of those that share a key, the second and later have their number
// behind it, so that each stands for one finding.
func Fingerprints(findings []Finding) []string {
	prints := make([]string, len(findings))
	seen := make(map[Key]int)
	for i, f := range findings {
		k := f.Key()
		prints[i] = k.Fingerprint()
		if seen[k]++; seen[k] > 1 {
			prints[i] += ":" + strconv.Itoa(seen[k])
		}
	}
	return prints
}

// ImportPath is the import path in a package's id, without the test variant that it was built for.
func ImportPath(id string) string {
	path, _, _ := strings.Cut(id, " ")
	return path
}

// place is a position within a message: a file's name with a line, and perhaps a column.
var place = regexp.MustCompile(`(\.(?:go|sql)):\d+(?::\d+)?`)

// normalise takes out of a message what changes without the finding becoming another.
func normalise(rule, message string) string {
	message = strings.TrimPrefix(message, rule+": ")
	return strings.Join(strings.Fields(place.ReplaceAllString(message, "$1")), " ")
}
