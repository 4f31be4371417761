package queue

import "context"

// reasons look up why letters are in a dead letter list. They read the reasons page by page, from the newest on, as far
// as they have to.
type reasons struct {
	store *Store
	at    int64 // pages read so far end here
	ended bool
	known map[string]reason // by fingerprint; of equal letters the newest

	before      int64 // where reading goes on once the newest are read: see again
	endedBefore bool
}

// again has the newest reasons read once more, until they are known: letters have been buried meanwhile. The others are
// not read twice.
func (r *reasons) again() {
	if r.before == 0 {
		r.before, r.endedBefore = r.at, r.ended
	}
	r.at, r.ended = 0, false
}

func (s *Store) newReasons() *reasons { return &reasons{store: s, known: make(map[string]reason)} }

// of returns why letter is dead; known is false where nobody has said so: the old worker buried it, or its reason is
// older than those that are kept.
func (r *reasons) of(ctx context.Context, letter string) (why reason, known bool, err error) {
	name := fingerprint(letter)
	for {
		if why, ok := r.known[name]; ok || r.ended {
			return why, ok, nil
		}
		if err := r.more(ctx); err != nil {
			return reason{}, false, err
		}
	}
}

// more reads one page.
func (r *reasons) more(ctx context.Context) error {
	page, err := r.store.rdb.LRange(ctx, r.store.keys.reasons, r.at, r.at+deadPage-1).Result()
	if err != nil {
		return r.store.readDead(ctx, err)
	}
	r.at += int64(len(page))
	r.ended = len(page) < deadPage
	news := false
	for _, text := range page {
		name, why := parseReason(text)
		if _, newer := r.known[name]; !newer {
			r.known[name], news = why, true
		}
	}
	if r.before > 0 && !news { // new ones have only moved the others further back, so none lies before that place unread
		r.at, r.ended, r.before = max(r.at, r.before), r.endedBefore || r.ended, 0
	}
	return nil
}
