package faults

import "fmt"

// job is one that was written, and what must become of it.
type job struct {
	uuid, topic, fate string

	sure bool // Redis said that it has it; else it may have been lost on the way there, which is no loss
}

// The fates of jobs, as the job script reads them.
const (
	fateDone      = "done"
	fateFailOnce  = "fail once"
	fateCrashOnce = "crash once" // it kills its own child
	fateFail      = "fail"       // at every run: it must end in dead
	fateReject    = "reject"     // it says never again: it must end in dead
)

// lastTry is the value of retry with which a failing job goes to dead: the sidecars' retry has so many waits.
const lastTry = 2

// dies reports whether the job must end in dead.
func (j job) dies() bool { return j.fate == fateFail || j.fate == fateReject }

// newJob is the nth job of a shop. All that there is to know of it follows from n.
func newJob(n int) (j job, text string) {
	j.topic = topicWorker
	switch n % 20 {
	case 3, 6, 9, 13, 17:
		j.topic = topicRequest
	case 0, 5, 11:
		j.topic = topicShared
	case 2, 8, 14:
		j.topic = topicSharded
	case 4, 10:
		j.topic = topicAcked
	}
	j.uuid, j.fate = fmt.Sprintf("%s-%07d", j.topic, n), fateDone
	us := n % 7 * 300 // of work
	switch n / 20 % 64 {
	case 7, 21, 35:
		j.fate = fateFailOnce
	case 14:
		j.fate = fateFail
	case 28:
		j.fate = fateReject
	case 42:
		j.fate = fateCrashOnce
	case 49, 56:
		us = 150_000
	}
	if isList(j.topic) {
		return j, j.listText(n, us)
	}
	return j, fmt.Sprintf(`{"uuid":"%s","type":"order_timeout","order_id":%d,"retry":0,"note":"超时关单 \/ 订单","tags":[],"fate":"%s","us":%d}`,
		j.uuid, 100000+n, j.fate, us)
}
