package app

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sidecar/internal/dash"
)

func TestSeveralViewersShareOneCountOfCauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &causeCounts{last: make(map[string]*causeCount)}
		want := dash.Causes{Of: 3}
		release, calls := make(chan struct{}), 0
		count := func(ctx context.Context) (dash.Causes, error) {
			calls++
			<-release
			return want, ctx.Err()
		}
		var wg sync.WaitGroup
		ask := func(ctx context.Context, want dash.Causes) {
			wg.Go(func() {
				if got := c.get(ctx, "mail", count); !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
			synctest.Wait()
		}
		first, leave := context.WithCancel(t.Context())
		hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		ask(first, want)
		ask(t.Context(), want)
		ask(hasty, dash.Causes{})
		leave() // the others wait for what it counts
		<-time.After(2 * time.Millisecond)
		close(release)
		wg.Wait()
		ask(t.Context(), want)
		wg.Wait()
		if calls != 1 {
			t.Errorf("counted %d times", calls)
		}
		<-time.After(causesKept)
		ask(t.Context(), want)
		wg.Wait()
		if calls != 2 {
			t.Errorf("an old count is shown, after %d", calls)
		}
		broken := func(context.Context) (dash.Causes, error) { calls++; return want, errors.New("gone") }
		for range 2 {
			if got := c.get(t.Context(), "sms", broken); !reflect.DeepEqual(got, dash.Causes{}) {
				t.Errorf("got %+v of what failed", got)
			}
		}
		if calls != 3 {
			t.Errorf("what failed was asked for again at once: %d calls", calls)
		}
	})
}
