package config

import (
	"slices"

	"sidecar/fastcgi"
	"sidecar/queue"
)

// topicFields are those of [topic.<name>].
func topicFields(t *Topic) []field { return slices.Concat(sharedFields(t), delayFields(t)) }

// listFields are those of [list.<name>], which t must be.
func listFields(t *Topic) []field {
	return slices.Concat(
		[]field{{"key", text(&t.Queue.List.Key)}},
		plainFields(t.Queue.List),
		sharedFields(t),
		[]field{{"route", nil}},
	)
}

// defaultsFields are those of [defaults]: whatever several tables may have in common. A topic passes over what only
// a list has, and the other way round.
func defaultsFields(t *Topic) []field {
	list := t.Queue.List
	if list == nil {
		list = new(queue.ListOptions)
	}
	return slices.Concat(sharedFields(t), delayFields(t), plainFields(list))
}

// sharedFields are those of topics and lists alike.
func sharedFields(t *Topic) []field {
	return []field{
		{"fpm", text(&t.Pool)},
		{"mode", text(&t.FPM.Mode)},
		{"call", text(&t.FPM.Call)},
		{"script", text(&t.FPM.Script)},
		{"bootstrap", text(&t.FPM.Bootstrap)},
		{"bridge", flag(&t.FPM.Bridge)},
		{"exit_ok", flag(&t.FPM.ExitOK)},
		{"fail_on_false", flag(&t.FPM.FailOnFalse)},
		{"success_body", pattern(&t.FPM.SuccessBody)},
		{"workers", integer(&t.Queue.Workers)},
		{"weight", integer(&t.FPM.Weight)},
		{"lease", duration(&t.Queue.Lease)},
		{"timeout", duration(&t.FPM.Timeout)},
		{"abandon_after", duration(&t.FPM.AbandonAfter)},
		{"retry", durations(&t.Queue.Retry)},
		{"max_crashes", integer(&t.Queue.MaxCrashes)},
		{"scan_interval", duration(&t.Queue.ScanInterval)},
		{"batch", integer(&t.Queue.Batch)},
		{"idempotency", text(&t.Queue.Idempotency)},
		{"encoding", text(&t.Queue.Encoding)},
		{"decode_limit", size(&t.Queue.DecodeLimit)},
		{"stall_after", duration(&t.Queue.StallAfter)},
		{"rate", rate(&t.Queue.Rate)},
		{"pause_windows", windows(&t.Queue.PauseWindows)},
		{"breaker", integer(&t.Queue.Breaker)},
		{"breaker_probe", duration(&t.Queue.BreakerProbe)},
		{"memory_limit", text(&t.FPM.MemoryLimit)},
		{"output_limit", size(&t.FPM.OutputLimit)},
		{"log_stderr", flag(&t.FPM.LogStderr)},
		{"min_workers", integer(&t.FPM.MinWorkers)},
		{"idle_timeout", duration(&t.FPM.IdleTimeout)},
		{"max_jobs", integer(&t.FPM.MaxJobs)},
		{"max_age", duration(&t.FPM.MaxAge)},
		{"max_memory", size(&t.FPM.MaxMemory)},
	}
}

// delayFields are those of topics alone: a list has no due times that producers write, and its jobs are ready as
// they are pushed, however many there are.
func delayFields(t *Topic) []field {
	return []field{
		{"ready_max", integer(&t.Queue.ReadyMax)},
		{"score_unit", text(&t.Queue.ScoreUnit)},
	}
}

// plainFields are those of lists alone that several lists may have in common.
func plainFields(o *queue.ListOptions) []field {
	return []field{
		{"shards", integer(&o.Shards)},
		{"order", text(&o.Order)},
		{"dead", text(&o.Dead)},
		{"max_retry", integer(&o.MaxRetry)},
	}
}

// routeFields are those of [list.<name>.route.<type>].
func routeFields(t *fastcgi.Target) []field {
	return []field{
		{"call", text(&t.Call)},
		{"script", text(&t.Script)},
		{"timeout", duration(&t.Timeout)},
	}
}
