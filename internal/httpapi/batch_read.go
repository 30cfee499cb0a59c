package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"earshot/internal/fault"
	"earshot/internal/feedback"
)

// batchLimits are how much of a body is read; each line may be as long as the body of a create. The bytes are those that come out of a
// compressed body: whatever a few bytes are made to say, no more than that is read.
type batchLimits struct {
	lines int
	bytes int64
}

// maxChunkBytes is how much is written in one statement.
const maxChunkBytes = 1 << 20

const ndjson = "application/x-ndjson"

// line is one feedback to create, or why it cannot be.
type line struct {
	number   int
	feedback feedback.New
	form     *fault.Form
	refusal  *fault.Fault
}

// chunk is lines that are written together.
type chunk struct {
	lines []line
	bytes int
	next  int // the number of the line after them
}

// lineReader returns the next line and its number, with what is wrong with it alone if anything is. The text is good until the next call. An
// error is the end, io.EOF the one that was to be expected.
type lineReader func() (number int, text []byte, refusal *fault.Fault, err error)

// batchIn is the lines of a batch as they come in. They wait together until somebody takes them: while some are written the next ones
// gather, and no line waits for company.
type batchIn struct {
	mu      sync.Mutex
	waiting *chunk
	ended   bool
	err     error // why there are no more lines, once there are none; nil at the end of the body

	came    chan struct{} // has one when there may be something to take
	taken   chan struct{} // has one when there may be room again
	stopped chan struct{}
	reader  sync.WaitGroup
}

// readBatch starts to read a body. extend is called for every line, to give the client time for it.
func (s *Server) readBatch(r *http.Request, extend func()) (*batchIn, error) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != ndjson && media != "application/json" {
		return nil, fault.New(fault.UnsupportedMedia, "The body must be application/x-ndjson, or application/json with a list.")
	}
	encoding := strings.ToLower(r.Header.Get("Content-Encoding"))
	if encoding != "" && encoding != "identity" && encoding != "gzip" {
		return nil, fault.New(fault.UnsupportedMedia, "The body may be compressed by gzip, and not otherwise.")
	}
	in := &batchIn{waiting: &chunk{}, came: make(chan struct{}, 1), taken: make(chan struct{}, 1), stopped: make(chan struct{})}
	in.reader.Go(func() {
		var err error
		defer func() {
			// A panic would end the process here, instead of a request.
			if p := recover(); p != nil {
				err = fmt.Errorf("panic while reading: %T", p)
			}
			in.end(err)
		}()
		var body io.Reader = r.Body
		if encoding == "gzip" {
			extend()
			inflated, broken := gzip.NewReader(body)
			if broken != nil {
				err = fault.New(fault.BadRequest, "The body is not compressed by gzip.")
				return
			}
			body = inflated
		}
		body = &meter{Reader: body, most: s.batches.bytes, refusal: overfull("bytes", s.batches.bytes)}
		if media == ndjson {
			err = in.read(textLines(body, s.BodyLimit), s.batches.lines, extend)
		} else {
			err = in.read(listElements(body, s.BodyLimit), s.batches.lines, extend)
		}
	})
	return in, nil
}

// read adds lines to those that wait until there are no more, or nobody wants them. nil is the end of the body.
func (in *batchIn) read(next lineReader, most int, extend func()) error {
	for {
		extend()
		number, text, refusal, err := next()
		if err == nil && number > most {
			err = overfull("lines", int64(most))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		l := readLine(number, text, refusal)
		in.mu.Lock()
		c := in.waiting
		c.lines, c.bytes, c.next = append(c.lines, l), c.bytes+len(text), number+1
		full := len(c.lines) == feedback.MaxMany || c.bytes >= maxChunkBytes
		in.mu.Unlock()
		signal(in.came)
		for full {
			select {
			case <-in.taken:
				in.mu.Lock()
				full = in.waiting == c
				in.mu.Unlock()
			case <-in.stopped:
				return nil
			}
		}
	}
}

// end notes that there are no more lines, and why.
func (in *batchIn) end(err error) {
	in.mu.Lock()
	in.ended, in.err = true, err
	in.mu.Unlock()
	signal(in.came)
}

// signal leaves word, unless there is some already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take waits for lines and returns all there are; nil after the last. While the client says nothing it asks, now and then, whether to go on
// waiting: a service that stops does not wait for its clients.
func (in *batchIn) take(ctx context.Context, goOn func(context.Context) error) (*chunk, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if c, ended := in.waitingNow(); c != nil || ended {
			signal(in.taken)
			return c, nil
		}
		select {
		case <-in.came:
		case <-tick.C:
			if err := goOn(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// waitingNow takes the lines that wait, nil when there are none, and says whether more can come.
func (in *batchIn) waitingNow() (c *chunk, ended bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.waiting.lines) == 0 {
		return nil, in.ended
	}
	c, in.waiting = in.waiting, &chunk{}
	return c, false
}

// stop returns when nothing is read any more; interrupt ends a read that waits for the client. A body that was read to its end is left
// alone: the connection is good for another request.
func (in *batchIn) stop(interrupt func()) {
	close(in.stopped)
	in.mu.Lock()
	ended := in.ended
	in.mu.Unlock()
	if !ended {
		interrupt()
	}
	in.reader.Wait()
}

func readLine(number int, text []byte, refusal *fault.Fault) line {
	l := line{number: number, form: &fault.Form{}, refusal: refusal}
	if refusal != nil {
		return l
	}
	tree, err := jsonTree(text, "line")
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		l.refusal = f
		return l
	}
	l.feedback = newFeedback(input{values: tree, form: l.form})
	return l
}

func overfull(what string, most int64) *fault.Fault {
	return fault.New(fault.PayloadTooLarge, "A batch has %d %s at most. Send the rest in another one.", most, what)
}

// textLines reads one object a line. Empty lines are counted and left out.
func textLines(body io.Reader, longest int64) lineReader {
	r := bufio.NewReaderSize(body, 64<<10)
	number := 0
	var text []byte
	return func() (int, []byte, *fault.Fault, error) {
		for {
			number++
			text = text[:0]
			tooLong, err := false, bufio.ErrBufferFull
			for errors.Is(err, bufio.ErrBufferFull) {
				var piece []byte
				piece, err = r.ReadSlice('\n')
				if tooLong = tooLong || int64(len(text)+len(piece)) > longest+1; !tooLong {
					text = append(text, piece...)
				}
			}
			// A line that the end of the body ends is one; one that a broken connection ends is not.
			if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0 && !tooLong) {
				return number, nil, nil, broken(err)
			}
			if tooLong {
				return number, nil, fault.New(fault.PayloadTooLarge, "The line is longer than %d bytes.", longest), nil
			}
			if len(bytes.TrimSpace(text)) > 0 {
				return number, text, nil, nil
			}
		}
	}
}

// listElements reads the elements of a JSON list, as if each were a line.
func listElements(body io.Reader, longest int64) lineReader {
	m := &meter{Reader: body, refusal: fault.New(fault.PayloadTooLarge, "An element of the list is longer than %d bytes.", longest)}
	d := json.NewDecoder(m)
	number := 0
	wrong := func(err error) error {
		if f, ok := errors.AsType[*fault.Fault](err); ok {
			return f
		}
		return fault.New(fault.BadRequest, "The list breaks off or goes wrong at byte %d.", d.InputOffset())
	}
	return func() (int, []byte, *fault.Fault, error) {
		// What the decoder has read ahead is not counted against the element.
		m.most = m.read + longest
		if number == 0 {
			if t, err := d.Token(); err != nil || t != json.Delim('[') {
				return 0, nil, nil, fault.New(fault.BadRequest, "The body must be a JSON list.")
			}
		}
		number++
		if !d.More() {
			if _, err := d.Token(); err != nil {
				return number, nil, nil, wrong(err)
			}
			if _, err := d.Token(); !errors.Is(err, io.EOF) {
				return number, nil, nil, fault.New(fault.BadRequest, "There is something behind the list, at byte %d.", d.InputOffset())
			}
			return number, nil, nil, io.EOF
		}
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return number, nil, nil, wrong(err)
		}
		return number, text, nil, nil
	}
}

// meter reads so many bytes and refuses more.
type meter struct {
	io.Reader
	read, most int64
	refusal    *fault.Fault
}

func (m *meter) Read(p []byte) (int, error) {
	if m.read >= m.most {
		return 0, m.refusal
	}
	n, err := m.Reader.Read(p[:min(int64(len(p)), m.most-m.read)])
	m.read += int64(n)
	return n, err
}

// broken is the fault of a body that could not be read on.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		return f
	}
	return fault.New(fault.BadRequest, "The body could not be read to its end.")
}
