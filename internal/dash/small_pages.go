package dash

import "net/http"

// sidecarsBody is what the page of pools and sidecars shows.
type sidecarsBody struct{ Overview }

func (p *Pages) sidecars(r *http.Request, v *view) error {
	o, err := p.source.Overview(r.Context())
	if err != nil {
		return err
	}
	v.Now, v.Title, v.Body = o.Now, v.words.t("sidecars.title"), sidecarsBody{o}
	return nil
}

// auditBody is what the audit page shows.
type auditBody struct {
	Topic string
	Lines []AuditLine
}

func (p *Pages) audit(r *http.Request, v *view) error {
	topic := r.URL.Query().Get("t")
	lines, err := p.source.Audit(r.Context(), topic)
	if err != nil {
		return err
	}
	v.Title, v.Body = v.words.t("audit.title"), auditBody{Topic: topic, Lines: lines}
	return nil
}
