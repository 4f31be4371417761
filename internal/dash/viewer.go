package dash

import "context"

// Viewer is who looks at a page, and what they may do. Whoever guards the pages puts it into the request's context.
type Viewer struct {
	Name        string // for the audit trail: "web 127.0.0.1"
	MayWrite    bool   // replay, drop, pause …
	ShowPayload bool   // see the text of jobs; fields are masked all the same
	CSRF        string // what every form has to bring back in the field CSRFField; "" = nothing is asked for
	CanLogIn    bool   // there is a token, and this viewer has not shown it: offer the login page
	LoggedIn    bool   // there is a session to end: offer to log out
}

// CSRFField is the name of the form field that carries Viewer.CSRF.
const CSRFField = "csrf"

// The form of the login page: a POST to LoginPath, relative to the pages' root, with these fields. What answers it is
// not of this package, nor what answers a POST to LogoutPath. NextField is where to go afterwards, relative to the root.
const (
	LoginPath  = "login"
	LogoutPath = "logout"
	TokenField = "token"
	NextField  = "next"
)

type viewerKey struct{}

// WithViewer returns a context in which v looks.
func WithViewer(ctx context.Context, v Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// Viewing returns who looks: somebody who may do nothing where nobody was named.
func Viewing(ctx context.Context) Viewer {
	v, _ := ctx.Value(viewerKey{}).(Viewer)
	return v
}
