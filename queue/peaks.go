package queue

import (
	"math"
	"sync/atomic"
)

// Peaks are the greatest of a topic's measures since they were taken last, in seconds; 0: none. The buckets of its histograms
// are wide.
type Peaks struct {
	Run  float64 // how long a run took
	Late float64 // how late one began
}

// peak is the greatest of what it was given since it was taken last.
type peak struct{ bits atomic.Uint64 } // of a float that is not negative: these sort as their bits do

func (p *peak) raise(v float64) {
	bits := math.Float64bits(max(v, 0))
	for have := p.bits.Load(); bits > have && !p.bits.CompareAndSwap(have, bits); {
		have = p.bits.Load()
	}
}

func (p *peak) take() float64 { return math.Float64frombits(p.bits.Swap(0)) }

// topicPeaks are the peaks of one topic.
type topicPeaks struct{ run, late peak }

// Peaks returns those of all topics since the last call.
func (m *Metrics) Peaks() map[string]Peaks {
	taken := make(map[string]Peaks)
	m.peaks.Range(func(topic, p any) bool {
		peaks := p.(*topicPeaks)
		if t := (Peaks{peaks.run.take(), peaks.late.take()}); t != (Peaks{}) {
			taken[topic.(string)] = t
		}
		return true
	})
	return taken
}
