package dash

import "net/http"

// jobBody is what a job's page shows.
type jobBody struct {
	JobView
	Topic string
	Why   []Reason
	Raw   bool // the raw text is asked for
	Links jobLinks
	Did   *did
}

type jobLinks struct{ Pretty, Raw string }

func (p *Pages) job(r *http.Request, v *view) error {
	q := r.URL.Query()
	topic, ref := q.Get("t"), q.Get("ref")
	found, err := p.source.Job(r.Context(), topic, ref)
	if err != nil {
		return err
	}
	if !v.Viewer.ShowPayload {
		found.Payload = Payload{Size: found.Payload.Size, Form: found.Payload.Form}
	}
	_, raw := cut(found.Payload.Raw, codeText)
	_, pretty := cut(found.Payload.Pretty, codeText)
	found.Payload.Cut = found.Payload.Cut || raw || pretty
	v.Now = found.Now
	v.Title = v.words.t("job.title", clipped(name(found.Row), rowText))
	at := func(raw string) string {
		return link("job", "t", topic, "ref", ref, "uuid", q.Get("uuid"), "raw", raw)
	}
	v.Body = jobBody{
		JobView: found, Topic: topic, Why: found.Why(), Raw: q.Get("raw") != "" || found.Payload.Pretty == "",
		Links: jobLinks{Pretty: at(""), Raw: at("1")}, Did: didOf(q),
	}
	return nil
}

// name is what a job is called.
func name(row JobRow) string {
	if row.UUID != "" {
		return row.UUID
	}
	return "?"
}

// Severe reports that the job waits for a person.
func (r Reason) Severe() bool {
	switch r.Code {
	case WhyFailed, WhyUnreadable, WhyNever, WhyBeyond, WhyLeaseOver, WhyShut, WhyStalled, WhyTrouble, WhyUnconsumed:
		return true
	}
	return false
}
