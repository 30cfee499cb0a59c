package pg

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Violates reports whether err is the refusal of the named constraint or unique index.
func Violates(err error, constraint string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && strings.HasPrefix(e.Code, "23") && e.ConstraintName == constraint
}

// TimedOut reports whether a statement was stopped for running past the statement timeout.
func TimedOut(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "57014"
}

// Away reports whether err says that the database could not be reached or would not serve,
// so that the same request may succeed later.
func Away(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code[:2] {
		case "08", "53", "57": // connection, resources, operator intervention
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

// Describe is err's text without anything that came from a request. PostgreSQL quotes values in the messages of
// class 22 and in the details of others, and the driver quotes an argument it cannot encode.
func Describe(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		safe := "SQLSTATE " + e.Code
		if !strings.HasPrefix(e.Code, "22") {
			safe = e.Message + " (" + safe + ")"
		}
		for _, name := range []string{e.TableName, e.ColumnName, e.ConstraintName} {
			if name != "" {
				safe += " " + name
			}
		}
		text = strings.ReplaceAll(text, e.Error(), safe)
	}
	if before, _, ok := strings.Cut(text, "failed to encode args"); ok {
		text = before + "an argument could not be encoded"
	}
	return text
}
