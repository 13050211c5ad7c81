package store

import "testing"

func TestPurge(t *testing.T) {
	s := &Store{}
	if s.db == nil {
		t.Skip("no database")
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
}
