package cli

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"time"
)

type pushFlags struct{ delay time.Duration }

func pushVerb() verb {
	return verb{
		name:  "push",
		usage: "TOPIC [JSON|-] [--delay 30s]",
		short: "put one job into a topic or list, print its uuid",
		long: `
Adds one job to delay:pool:TOPIC, due now or after --delay by Redis's clock, as a PHP producer would. TOPIC may be a
list: then it is pushed to the list, with shards to that of its job_id, or waits beside it until --delay is over.
JSON is one object; "-" reads it from standard input; without it the job is empty but for its uuid.
A job without a uuid (in a list a job_id) gets one. Prints it.

  sidecar push order_timeout '{"order_id":42}' --delay 30s
  sidecar push send_sms '{"type":"send_sms","payload":{"to":"…"}}'`,
		flags: func(fs *flag.FlagSet) any {
			f := new(pushFlags)
			fs.DurationVar(&f.delay, "delay", 0, "how far from now the job is due, such as 30s or 10m")
			return f
		},
		run: push,
	}
}

func push(env Env, c call) int {
	f := c.flags.(*pushFlags)
	if len(c.args) < 1 || len(c.args) > 2 {
		return usageError(env, pushVerb(), "want a topic and at most one job, got %d arguments", len(c.args))
	}
	if f.delay < 0 {
		return usageError(env, pushVerb(), "--delay %s: want zero or more", f.delay)
	}
	text := "{}"
	if len(c.args) == 2 {
		var err error
		if text, err = textFrom(env, c.args[1]); err != nil {
			return report(env, exitFailed, err)
		}
	}
	return withStore(env, c, func(ctx context.Context, s session) int {
		job, err := jobOf(s.topic, text)
		if err != nil {
			return fail(env, "this is not a job: %v", err)
		}
		if job.UUID() == "" {
			job = job.WithUUID(newUUID())
		}
		if err := s.store.Push(ctx, job.Raw(), f.delay); err != nil {
			return report(env, exitFailed, err)
		}
		fmt.Fprintln(env.Stdout, job.UUID())
		return exitOK
	})
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
