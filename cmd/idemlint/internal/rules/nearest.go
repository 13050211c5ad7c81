package rules

import "strings"

// Nearest returns the candidate with the fewest edits from word, the first of equals, when it is near enough to
// be a slip of the finger: at most a third of the word's length, and one edit for a short word. Case does not
// count.
func Nearest(word string, candidates []string) (string, bool) {
	word = strings.ToLower(word)
	limit := max(1, len(word)/3)
	best, found := "", false
	for _, c := range candidates {
		if d := distance(word, strings.ToLower(c)); d <= limit {
			best, found, limit = c, true, d-1
		}
	}
	return best, found
}

// distance is the number of bytes to insert, delete, replace or swap with their neighbour to make a into b
// (optimal string alignment).
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
