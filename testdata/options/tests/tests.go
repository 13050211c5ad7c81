package tests

type Paid struct{ EventID string }
