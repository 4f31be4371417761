package queue_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// searchAll makes all steps of a search; between two steps it calls meanwhile.
func searchAll(t *testing.T, s *queue.Store, q queue.Query, meanwhile func(step int)) (all []queue.Entry, last queue.Found) {
	t.Helper()
	search, err := s.NewSearch(q, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	cursor := ""
	for step := range 10_000 {
		last, err = search.Next(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, last.Entries...)
		if cursor = last.Cursor; cursor == "" {
			return all, last
		}
		if strings.Trim(cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("a URL cannot carry %s", cursor)
		}
		if meanwhile != nil {
			meanwhile(step)
		}
	}
	t.Fatal("the search does not end")
	return nil, last
}

// found are the uuids that a search finds, sorted, each once.
func found(t *testing.T, s *queue.Store, q queue.Query) []string {
	t.Helper()
	list, last := searchAll(t, s, q, nil)
	if last.Unsure || last.Looked != last.Of {
		t.Errorf("%+v: looked at %d of %d, unsure %t", q, last.Looked, last.Of, last.Unsure)
	}
	uuids := uuidsOf(list)
	slices.Sort(uuids)
	if n := len(uuids); len(slices.Compact(uuids)) != n {
		t.Errorf("%+v: found some twice in keys that stood still", q)
	}
	return uuids
}

func TestSearchFindsWhatIsAskedForWhereverItIs(t *testing.T) {
	b := newBench(t, nil)
	now := b.nowMS(t)
	hour := time.UnixMicro(int64(now * 1000)).Add(time.Hour)
	b.do(t, "ZADD", b.keys.Pool, now+3_600_000, `{"uuid":"ord_web_1","type":"order"}`, now, `{"uuid":"ord_app_1","last_error":"Timeout reached"}`)
	b.ready(t, `{"uuid":"ord_web_2"}`, `{"uuid":12}`, "no job")
	b.do(t, "ZADD", b.keys.Running, now+1000, `{"uuid":"ord_app_2","note":"ord_web"}`)
	b.do(t, "RPUSH", b.keys.Dead, deadRecord(`{"uuid":"ord_web_3","type":"order"}`), deadRecord(`{"uuid":"a/b"}`), "no record")
	for _, test := range []struct {
		q    queue.Query
		want string
	}{
		{queue.Query{UUID: "ord_web_2"}, "[ord_web_2]"},
		{queue.Query{UUID: "ord_web"}, "[]"},
		{queue.Query{UUID: "12"}, "[12]"},
		{queue.Query{UUID: "a/b"}, "[a/b]"},
		{queue.Query{UUID: compat.PlainUUID("a/b")}, "[a/b]"}, // as it is shown
		{queue.Query{Prefix: "ord_web"}, "[ord_web_1 ord_web_2 ord_web_3]"},
		{queue.Query{Prefix: "ord_web", Places: []queue.Place{queue.InDead, queue.InPool}}, "[ord_web_1 ord_web_3]"},
		{queue.Query{Prefix: "ord_app", Type: "order"}, "[]"},
		{queue.Query{Type: "order"}, "[ord_web_1 ord_web_3]"},
		{queue.Query{Error: "BOOM"}, "[a/b ord_web_3]"},
		{queue.Query{Error: "timeout"}, "[ord_app_1]"},
		{queue.Query{Since: hour.Add(-time.Second)}, "[ord_web_1]"},
		{queue.Query{Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, "[a/b ord_web_3]"},
		{queue.Query{Since: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), Places: []queue.Place{queue.InDead}}, "[]"},
		{queue.Query{Places: []queue.Place{queue.InRunning}}, "[ord_app_2]"},
	} {
		if got := fmt.Sprint(found(t, b.Store, test.q)); got != test.want {
			t.Errorf("%+v: found %s, want %s", test.q, got, test.want)
		}
	}
}

func TestSearchGoesThroughLargeKeysInSteps(t *testing.T) {
	b := newListBench(t, 2, nil)
	fill(t, b.bench, 3000)
	list, last := searchAll(t, b.Store, queue.Query{Prefix: "x"}, nil)
	if len(list) != 4*3000 || last.Of != 4*3000 || last.Looked != last.Of || last.Unsure {
		t.Errorf("found %d, looked at %d of %d", len(list), last.Looked, last.Of)
	}
	if got, _ := searchAll(t, b.Store, queue.Query{UUID: "x2999"}, nil); len(got) != 4 {
		t.Errorf("found %d by uuid, want one in each place", len(got))
	}
}

// fill puts n jobs into each place, with one pipeline a place.
func fill(t testing.TB, b bench, n int) {
	t.Helper()
	isList := strings.HasPrefix(b.keys.Pool, "sidecar:")
	pipe := b.rdb.Pipeline()
	for i := range n {
		text := fmt.Sprintf(`{"uuid":"x%d","pad":"%s"}`, i, strings.Repeat("p", 100))
		record := deadRecord(text)
		if isList {
			text = fmt.Sprintf(`{"job_id":"x%d","pad":"%s"}`, i, strings.Repeat("p", 100))
			record = text
		}
		pipe.Do(t.Context(), "ZADD", b.keys.Pool, i, text)
		pipe.Do(t.Context(), "ZADD", b.keys.Running, i, text)
		pipe.Do(t.Context(), "RPUSH", b.keys.Ready, text)
		pipe.Do(t.Context(), "RPUSH", b.keys.Dead, record)
		if i%10_000 == 9999 || i == n-1 {
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWhatHasNoUUIDIsFoundByItsName(t *testing.T) {
	for name, encoding := range map[string]queue.Encoding{"plain": queue.EncodingPlain, "wrapped": queue.EncodingAuto} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *queue.Options) { o.Encoding = encoding })
			records := []string{deadRecord(`{"order_id":1}`), "no record", "", deadRecord(`{"uuid":"a"}`)}
			for _, record := range records {
				b.do(t, "RPUSH", b.keys.Dead, record)
			}
			b.ready(t, `{"uuid":"record:0123456789abcdef0123"}`) // and nobody is kept from being called so
			all, _ := searchAll(t, b.Store, queue.Query{}, nil)
			for _, e := range all {
				got, _ := searchAll(t, b.Store, queue.Query{UUID: e.Name()}, nil)
				if len(got) != 1 || got[0].Stored != e.Stored {
					t.Errorf("%s names %+v, want %q alone", e.Name(), got, e.Stored)
				}
			}
		})
	}
}

func TestSearchReadsWrappedTexts(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.Encoding = queue.EncodingAuto })
	b.ready(t, serialized(`{"uuid":"w\u0031"}`), `{"uuid":"w2"}`)
	b.do(t, "ZADD", b.keys.Pool, 1, serialized(`{"uuid":"w1"}`))
	b.do(t, "RPUSH", b.keys.Dead, serialized(deadRecord(`{"uuid":"w1"}`)))
	if list, _ := searchAll(t, b.Store, queue.Query{UUID: "w1"}, nil); len(list) != 3 {
		t.Errorf("found %+v", list)
	}
}

// A list's reasons stand beside its letters; those that come meanwhile are read, too.
func TestSearchFindsLettersByTheirReasons(t *testing.T) {
	b := newListBench(t, 0, nil)
	sms, mail := sharing(b, []string{"sms"}, nil)
	letter := func(step int) string { return typedJob(fmt.Sprint("s", step), "other", 3) }
	bury := func(step int) {
		b.do(t, "LPUSH", b.lists.Reasons, queue.ReasonText("queue:test:sms", letter(step), fmt.Sprint("no credit ", step%2)))
		b.do(t, "LPUSH", b.lists.Dead, letter(step))
	}
	for i := range 1300 {
		b.do(t, "LPUSH", b.lists.Dead, typedJob(fmt.Sprint("m", i), "letter", 3))
		if i%2 == 0 {
			bury(i)
		}
	}
	q := queue.Query{Error: "CREDIT 0", Places: []queue.Place{queue.InDead}}
	list, last := searchAll(t, sms, q, func(step int) { bury(10_000 + step) })
	if len(list) != 650 || last.Unsure {
		t.Errorf("found %d", len(list))
	}
	q.Oldest = true
	if list, _ := searchAll(t, sms, q, func(step int) { bury(20_000 + 2*step) }); len(list) < 651 {
		t.Errorf("found %d, want those that were buried meanwhile as well", len(list))
	}
	if list, _ := searchAll(t, mail, q, nil); len(list) != 0 {
		t.Errorf("another list finds %d", len(list))
	}
}

func TestSearchFindsByWhatATextHasInIt(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "ZADD", b.keys.Pool, 1, `{"uuid":"number","payload":{"order_id":2104}}`, 2, `{"uuid":"string","Order_ID":"2104"}`, 3, `{"uuid":"longer","order_id":21045}`)
	b.ready(t, `{"uuid":"inside","payload":"{\"order\":{\"id\":2104}}"}`, `{"uuid":"array","orders":[{"id":7},{"id":2104}],"paid":true}`)
	b.do(t, "ZADD", b.keys.Running, 1, `{"uuid":"chinese","note":"\u8ba2\u5355 a\/b"}`)
	b.do(t, "RPUSH", b.keys.Dead, deadRecord(`{"uuid":"dead","order":{"id":"2104"}}`), "no record 2104")
	field := func(texts ...string) (q queue.Query) {
		for _, text := range texts {
			f, ok := queue.ParseField(text)
			if !ok {
				t.Errorf("%s is no field", text)
			}
			q.Fields = append(q.Fields, f)
		}
		return q
	}
	for _, test := range []struct {
		q    queue.Query
		want string
	}{
		{field("order_id=2104"), "[number string]"},
		{field("payload.order_id=2104"), "[number]"},
		{field("id=2104"), "[array dead inside]"},
		{field("order.id=2104"), "[dead inside]"},
		{field("id=2104", "paid=true"), "[array]"},
		{field("note=订单 a/b"), "[chinese]"},
		{field("der_id=2104"), "[]"},
		{queue.Query{Text: `"order_id":2104`}, "[longer number]"},
		{queue.Query{Text: "2104", Places: []queue.Place{queue.InDead}}, "[ dead]"},
		{queue.Query{Text: "订单"}, "[chinese]"},
		{queue.Query{Text: "a/b"}, "[chinese]"},
		{queue.Query{Text: "2104", Prefix: "str"}, "[string]"},
	} {
		if got := fmt.Sprint(found(t, b.Store, test.q)); got != test.want {
			t.Errorf("%+v: found %s, want %s", test.q, got, test.want)
		}
	}
	for _, text := range []string{"", "a", "a=", "=a", "a..b=1", ".a=1"} {
		if f, ok := queue.ParseField(text); ok {
			t.Errorf("%q is the field %+v", text, f)
		}
	}
}

func TestSearchFindsWrappedTextsByWhatIsInThem(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.Encoding = queue.EncodingAuto })
	b.ready(t, serialized(`{"uuid":"w","order_id":2104}`))
	if got := fmt.Sprint(found(t, b.Store, queue.Query{Fields: []queue.Field{{Name: "order_id", Value: "2104"}}})); got != "[w]" {
		t.Errorf("found %s", got)
	}
}

func TestASearchByFieldTakesLittleMemoryHoweverDeepATextIs(t *testing.T) {
	text := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	q := queue.Query{Fields: []queue.Field{{Name: "a.a", Value: "2"}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if q.Says(text) {
		t.Error("it is found")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
		t.Errorf("it took %d MB", took>>20)
	}
}
