package app

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/dash"
	"sidecar/queue"
)

// stateOf says what keeps a topic from running.
func (p *panel) stateOf(t *topic, cfg queue.Options, round depthsRound) dash.State {
	var s dash.State
	for _, hold := range t.consumer.Holds() {
		p.addHold(&s, hold)
	}
	if s.Breaker == nil {
		p.addOthersBreaker(&s, t.name, cfg.Breaker, p.now(round))
	}
	if pause, ok := round.pauses[t.name]; ok { // this sidecar may not have heard of it yet
		s.Paused = &dash.Paused{By: pause.By, Reason: pause.Reason, Since: pause.At, Until: pause.Until}
	} else if s.Paused != nil && s.Paused.Window == "" {
		s.Paused = nil // nor of its end
	}
	if fault := queue.FaultOf(round.unheld); fault == queue.WrongType || fault == queue.Other { // who may not read them is told of it in the log
		s.Trouble = append(s.Trouble, fmt.Sprintf("whether it is paused is not known: %v", round.unheld))
	}
	if err := t.notWaiting(); err != nil {
		s.Trouble = append(s.Trouble, err.Error())
	}
	if err := t.fpm.ShutReason(); errors.Is(err, fastcgi.ErrNotSeen) {
		s.Looking = true
	} else if err != nil {
		s.Shut = append(s.Shut, err.Error())
	}
	health := t.consumer.Health()
	if health.StallErr != nil {
		s.Stalled = health.StallErr.Error()
	}
	for _, err := range []error{health.ScanErr, health.ClaimErr, health.SettleErr} {
		if err != nil && !slices.Contains(s.Trouble, err.Error()) {
			s.Trouble = append(s.Trouble, err.Error())
		}
	}
	s.Unconsumed = p.unconsumed(t, p.now(round))
	d := round.topics[t.name].Depths
	s.Backpressure = d.Due > 0 && d.Ready >= int64(cfg.ReadyMax)
	return s
}

// addHold adds what holds a topic back on this sidecar.
func (p *panel) addHold(s *dash.State, h queue.Hold) {
	switch h.Kind {
	case queue.HoldManual:
		s.Paused = &dash.Paused{By: h.By, Reason: h.Reason, Since: h.Since, Until: h.Until}
	case queue.HoldWindow:
		if s.Paused == nil {
			s.Paused = &dash.Paused{Window: h.Reason, Since: h.Since, Until: h.Until}
		}
	case queue.HoldBreaker:
		// What the failures have in common is a text of the jobs' own.
		s.Breaker = &dash.Breaker{Failures: h.Failures, Error: p.mask.Text(h.Class), Since: h.Since, NextProbe: h.Probe, Here: true}
	case queue.HoldRate:
		s.Throttled = h.Reason
	}
}

// addOthersBreaker adds a breaker that has tripped on another sidecar.
func (p *panel) addOthersBreaker(s *dash.State, topic string, breaker int, now time.Time) {
	alive, _ := p.pulse.Alive()
	for _, b := range queue.Living(alive, now) {
		if h, on := b.Hold(topic, queue.HoldBreaker); on && b.Instance != p.instance {
			s.Breaker = &dash.Breaker{Failures: breaker, Error: b.Instance + ": " + h.Reason, Since: h.Since}
			return
		}
	}
}

// unconsumed reports that this sidecar does not consume the topic any more, or not yet, and that no other one lives that does.
func (p *panel) unconsumed(t *topic, now time.Time) bool {
	return p.consuming(t, now) == 0
}

// consuming counts the living sidecars that consume the topic.
func (p *panel) consuming(t *topic, now time.Time) (n int) {
	p.mu.Lock()
	stopping := p.stopping
	p.mu.Unlock()
	if !stopping && t.notWaiting() == nil {
		n++
	}
	for _, b := range p.others() {
		if b.Serves(t.name, now) {
			n++
		}
	}
	return n
}
