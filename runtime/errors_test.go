package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestAFailureIsJudgedByItsSQLState(t *testing.T) {
	pg := func(code string) error { return &pgconn.PgError{Code: code, Message: "déjà vu"} }
	own := func(err error) error { return &databaseError{doing: "marking", err: err} }
	byRecord := func(err error) error {
		return &recordError{index: 3, err: fmt.Errorf("handling: %w", err)}
	}
	cases := map[string]struct {
		err  error
		lost bool
		want verdict
	}{
		"serialization failure":            {byRecord(pg("40001")), false, retry},
		"deadlock":                         {byRecord(pg("40P01")), false, retry},
		"lock not available":               {byRecord(pg("55P03")), false, retry},
		"query cancelled":                  {byRecord(pg("57014")), false, retry},
		"administrator's command":          {byRecord(pg("57P01")), true, retry},
		"connection failure":               {byRecord(pg("08006")), false, retry},
		"too many connections":             {own(pg("53300")), false, retry},
		"idle in transaction":              {byRecord(pg("25P03")), true, retry},
		"read only":                        {byRecord(pg("25006")), false, retry},
		"undefined table":                  {byRecord(pg("42P01")), false, environment},
		"no privilege":                     {byRecord(pg("42501")), false, environment},
		"no unique key for the marks":      {own(pg("42P10")), false, environment},
		"no partition for the marks":       {own(pg("23514")), false, environment},
		"unique violation":                 {byRecord(pg("23505")), false, guilty},
		"check violation":                  {byRecord(pg("23514")), false, guilty},
		"out of range":                     {byRecord(pg("22003")), false, guilty},
		"raised by a trigger":              {byRecord(pg("P0001")), false, guilty},
		"unknown code":                     {byRecord(pg("ZZ999")), false, guilty},
		"handler's own error":              {byRecord(errors.New("no such customer")), false, guilty},
		"handler's error, connection lost": {byRecord(errors.New("no such customer")), true, retry},
		"truncated payload":                {byRecord(io.ErrUnexpectedEOF), false, guilty},
		"upstream refused":                 {byRecord(&net.OpError{Op: "dial", Err: errors.New("refused")}), false, retry},
		"upstream hung up":                 {byRecord(&url.Error{Op: "Post", URL: "http://x", Err: io.EOF}), false, retry},
		"upstream's name server is away":   {byRecord(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), false, retry},
		"connection refused":               {byRecord(os.NewSyscallError("connect", syscall.ECONNREFUSED)), false, retry},
		"request timed out":                {byRecord(&url.Error{Op: "Post", URL: "http://x", Err: context.DeadlineExceeded}), false, retry},
		"malformed URL":                    {byRecord(second(url.Parse("http://[::1"))), false, guilty},
		"malformed network":                {byRecord(third(net.ParseCIDR("10.0.0.0/99"))), false, guilty},
		"no such file":                     {byRecord(second(os.Open("/nowhere"))), false, guilty},
		"no such host":                     {byRecord(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}), false, guilty},
		"address without a port":           {byRecord(second(net.Dial("tcp", "localhost"))), false, guilty},
		"deadline":                         {byRecord(context.DeadlineExceeded), false, retry},
		"runtime's statement, no answer":   {own(io.ErrUnexpectedEOF), false, retry},
		"panic":                            {byRecord(&PanicError{Value: 1}), false, guilty},
		"swallowed deadlock":               {byRecord(&SwallowedError{SQL: "UPDATE", Err: pg("40P01")}), false, retry},
		"swallowed violation":              {byRecord(&SwallowedError{SQL: "UPDATE", Err: pg("23505")}), false, guilty},
		"transaction ended by a handler":   {byRecord(errEndedByHandler), false, environment},
		"commit by a handler":              {byRecord(fmt.Errorf("commit: %w", ErrTransactionControl)), false, environment},
		"after an unseen error":            {byRecord(pg("25P02")), false, guilty},
		"runtime's own after an error":     {own(pg("25P02")), false, environment},
		"foreign server is away":           {byRecord(pg("HV00N")), false, retry},
		"foreign table is wrong":           {byRecord(pg("HV000")), false, environment},
		"COMMIT in a procedure":            {byRecord(pg("2D000")), false, environment},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := judge(tc.err, tc.lost); got != tc.want {
				t.Errorf("verdict on %v is %d, want %d", tc.err, got, tc.want)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }
