package webui

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"earshot/internal/fault"
)

// What printing may take. Each is a browser of its own, with some hundred megabytes and most of a second of a processor.
const (
	prints       = 2 // at a time
	printTimeout = 25 * time.Second
)

// browser is a Chromium on this machine that prints pages.
type browser struct {
	path   string
	places chan struct{}
}

func newBrowser(path string) *browser {
	return &browser{path: path, places: make(chan struct{}, prints)}
}

// arguments make Chromium print one file and do nothing else. Whatever it would look up does not exist for it: it must not tell anybody
// of a page, nor fetch anything that somebody wrote into one.
var arguments = []string{
	"--headless",
	"--disable-gpu",
	"--disable-dev-shm-usage", // containers have little of it
	"--disable-extensions",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
	"--no-first-run",
	"--no-pdf-header-footer",
	"--host-resolver-rules=MAP * ~NOTFOUND",
	"--proxy-server=socks5://127.0.0.1:9", // nobody listens there
	"--proxy-bypass-list=<-loopback>",     // not even this machine is asked without it
}

// print makes a PDF of a page that brings all it needs. The page is in a file that only we may read, in a directory of its own that goes
// with it: other users of the machine see the command line, which tells them nothing.
func (b *browser) print(ctx context.Context, page []byte) (pdf []byte, err error) {
	select {
	case b.places <- struct{}{}:
		defer func() { <-b.places }()
	default:
		return nil, fault.New(fault.Unavailable, "Too many reports are being printed. Try again in a moment.")
	}
	dir, err := os.MkdirTemp("", "earshot-") // a short name: Chromium has sockets below it
	if err != nil {
		return nil, err
	}
	defer remove(dir)
	from, to := filepath.Join(dir, "report.html"), filepath.Join(dir, "report.pdf")
	if err := os.WriteFile(from, page, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, printTimeout)
	defer cancel()
	if err := b.run(ctx, dir, "--print-to-pdf="+to, "file://"+from); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return os.ReadFile(to)
}

// run has Chromium do something, with a profile of its own and nothing of our environment, which has the password of the database. It is
// many processes: none of them outlives the call.
func (b *browser) run(ctx context.Context, dir string, what ...string) error {
	all := append(arguments[:len(arguments):len(arguments)], "--user-data-dir="+filepath.Join(dir, "profile"))
	if os.Geteuid() == 0 { // it refuses to run as root with its sandbox
		all = append(all, "--no-sandbox")
	}
	cmd := exec.CommandContext(ctx, b.path, append(all, what...)...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = kill() // those that are left, mostly none
	return err
}

// remove takes a directory away. A process that was just killed may still be making files in it.
func remove(dir string) {
	for range 20 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
