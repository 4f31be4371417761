package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sidecar/internal/dash"
	"sidecar/internal/shell"
	"sidecar/internal/undo"
	"sidecar/queue"
)

// undoName is what an undo file of ours is called, without its ending: what a page may ask for is no path.
var undoName = regexp.MustCompile(`^sidecar-undo-[A-Za-z0-9._-]{1,200}$`)

const undoEnding = ".jsonl"

// undoable returns by which name Undo takes a line back, "" when it cannot.
func (p *panel) undoable(line queue.Audited) string {
	name := strings.TrimSuffix(filepath.Base(line.File), undoEnding)
	if !slices.Contains([]string{dash.VerbReplay, dash.VerbDrop, dash.VerbRequeue}, line.Verb) || filepath.Dir(line.File) != filepath.Clean(p.undoDir) || !undoName.MatchString(name) {
		return ""
	}
	file, err := os.Open(line.File)
	if err != nil { // another host's, or another user's
		return ""
	}
	_ = file.Close()
	return name
}

// Undo implements dash.Source.
func (p *panel) Undo(ctx context.Context, id string) (dash.Result, error) {
	if !dash.Viewing(ctx).MayWrite {
		return dash.Result{}, dash.ErrDenied
	}
	if !undoName.MatchString(id) {
		return dash.Result{}, fmt.Errorf("undo %.80q: %w", id, dash.ErrNotFound)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actPatience)
	defer cancel()
	path := filepath.Join(p.undoDir, id+undoEnding)
	log, err := undo.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return dash.Result{}, fmt.Errorf("undo %q: %w", id, dash.ErrNotFound)
	}
	if err != nil {
		return dash.Result{}, err
	}
	defer log.Close() // what it says is on the disk already
	g, _, t, err := p.find(log.Head.Topic)
	if err != nil {
		return dash.Result{}, err
	}
	err = log.CheckHome(ctx, t.watch, g.cfg.Redis.KeyPrefix, queue.HomeOf(g.cfg.Redis, p.host), pagePatience)
	if errors.Is(err, undo.ErrElsewhere) {
		return dash.Result{}, fmt.Errorf("%w; if they are to come here all the same: sidecar dead undo --anyway %s", err, shell.Word(path))
	}
	if err != nil {
		return dash.Result{}, trouble(err)
	}
	res, err := takeBack(ctx, t, log)
	if res.Count > 0 || err == nil {
		by := dash.Viewing(ctx).Name
		ctx, cancel := context.WithTimeout(ctx, pagePatience)
		defer cancel()
		p.noted(ctx, queue.Audited{By: by, Verb: dash.VerbUndo, Topic: t.name, Count: int(res.Count), File: path}, log.Trace(ctx, g.audit(), by, int(res.Count)))
	}
	return res, halfway(res, err)
}

// undoAtOnce is how many moves are taken back between two notes in the file.
const undoAtOnce = 100

func takeBack(ctx context.Context, t *topic, log *undo.Log) (res dash.Result, err error) {
	for moves, err := range log.Pending(undoAtOnce) {
		if err != nil {
			return res, err
		}
		results, err := log.TakeBack(ctx, t.watch, moves, pagePatience)
		for _, r := range results {
			switch r {
			case queue.Restored, queue.RestoredBefore:
				res.Count++
			case queue.Started:
				res.Skipped++
			case queue.NeverTaken:
				res.Gone++
			}
		}
		if err != nil {
			return res, err
		}
	}
	return res, nil
}
