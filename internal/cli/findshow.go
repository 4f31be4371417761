package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sidecar/compat"
	"sidecar/internal/plural"
	"sidecar/internal/shell"
)

func showFinding(env Env, r finding, asJSON bool) int {
	code := exitOK
	if len(r.Jobs) == 0 && len(r.Marks) == 0 {
		code = exitFailed
	}
	for _, f := range r.Failed {
		fmt.Fprintf(env.Stderr, "sidecar: %s could not be looked through: %s\n", f.Topic, told(f.Error))
	}
	if asJSON {
		_ = json.NewEncoder(env.Stdout).Encode(r)
		return code
	}
	for i, j := range r.Jobs {
		if i > 0 {
			fmt.Fprintln(env.Stdout)
		}
		j.print(env.Stdout)
	}
	for _, m := range r.Marks {
		fmt.Fprintf(env.Stdout, "%s: %s\n", m.Topic, m.Meaning)
	}
	if code != exitOK {
		r.printNowhere(env.Stderr)
	}
	if r.Unsure {
		fmt.Fprintln(env.Stderr, "sidecar: keys changed so much meanwhile that a job may have been passed over; look again")
	}
	return code
}

// printNowhere says that nothing was found, and what may have become of it.
func (r finding) printNowhere(w io.Writer) {
	fmt.Fprintf(w, "sidecar: %s is nowhere: looked at %s in pool, ready, running and dead of %s; %s\n",
		r.what(), plural.Of(r.Looked, "text", "texts"), listed(r.Topics), r.end())
	for _, b := range r.ByHand {
		if b.UUID == "" {
			fmt.Fprintf(w, "sidecar: %s\n", b.Meaning)
		}
	}
	if r.UUID != "" && (len(r.ByHand) == 0 || r.ByHand[0].UUID == "") {
		word := shell.Word(r.UUID)
		fmt.Fprintf(w, "sidecar: only the beginning of a uuid: find --prefix %s; something else of the job, such as an order number: find --text %s; "+
			"a topic that sidecar.toml does not have: sidecar doctor\n", word, word)
	}
}

// what says what was looked for.
func (r finding) what() string {
	if r.UUID != "" {
		return compat.PlainUUID(r.UUID)
	}
	var parts []string
	if r.Prefix != "" {
		parts = append(parts, compat.PlainUUID(r.Prefix)+"…")
	}
	for _, field := range r.Fields {
		parts = append(parts, told(cell(field)))
	}
	if r.Text != "" {
		parts = append(parts, told(cell(r.Text)))
	}
	return strings.Join(parts, " with ")
}

// end says what became of a job that is nowhere, as far as that is known.
func (r finding) end() string {
	if len(r.ByHand) > 0 && r.ByHand[0].UUID != "" {
		return r.ByHand[0].Meaning
	}
	return "it has run, and what is done is not kept, or never came here"
}

// print shows a job, one thing a line.
func (j foundJob) print(w io.Writer) {
	fmt.Fprintf(w, "%s  %s\n", cell(cmp.Or(j.UUID, j.Name)), j.Topic)
	var t table
	line := func(name, value string) {
		if value != "" {
			t.row(field{"  " + name, faint}, field{text: value})
		}
	}
	line("key", j.Key)
	line("type", j.Type)
	line("due", j.Due)
	line("claimed", j.Claimed)
	line("since", j.Since)
	line("lease ends", j.LeaseEnds)
	line("dead since", j.DeadSince)
	line("tries", fmt.Sprint(j.Tries))
	if j.Crashes > 0 {
		line("crashes", fmt.Sprint(j.Crashes))
	}
	if j.Error != "" {
		line("error", cell(j.Error))
	}
	line("means", j.Meaning)
	t.print(w, 0)
}
