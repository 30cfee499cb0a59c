package rig

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a benchmark until it is done or interrupted, and ends the process: with 1 and a line that begins with name where it failed.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
