// Package queue moves jobs between a topic's keys and runs them: one Lua script per move, one Consumer
// per topic. It knows Redis and nothing of PHP; a [Handler] runs the business code, a [Gate] says when.
//
//	        wake-ups (Waker) ──┐
//	                           ▼
//	pool ──promote── Scanner ──hint──► Feeder ◄── slots ── Gate
//	                    │                │ claim, done before?
//	                    │ expired        ▼
//	                    │             worker ──► Handler
//	                    ▼                │ outcome
//	               RetryPolicy ◄─────────┘
//	                    │ decision
//	                    ▼
//	                 Settler ──complete, requeue, bury──► keys
//
// Values go down as arguments and come back as results. The Keeper renews the leases of all claims in hand,
// from the reply of the claim until their settlement is through.
//
// # What holds
//
// A job is never in no key: every move is one script. A claim is held under its lease, which is the score
// it was given in running; whoever lost it changes nothing. A verdict is offered to Redis until it is
// through or the process ends, and an offer that is repeated does not double anything (docs/decisions/0007).
// Jobs run at least once: a process that dies between a run and its settlement leaves the claim in
// running, and the job runs again when the lease ends.
//
// # Time
//
// What is compared across machines is Redis's own clock ([ServerTime]). Between two replies it is the last
// one plus what this process has seen pass since; no host's wall clock is used.
//
// # Stopping
//
// Two contexts: take (may something new begin) and work (may what has begun go on). See [Consumer.Run].
package queue
