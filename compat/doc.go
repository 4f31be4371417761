// Package compat is the wire: what PHP producers and consumers wrote into Redis, byte for byte.
//
// It knows the keys, the job text and its surgical edits, PHP's JSON escaping, dead records, and the
// outcomes of a run. It does no I/O and imports the standard library only.
//
// What it must keep to is docs/contract.md, which comments cite as CONTRACT.
//
// # The way of a job
//
//	PHP ──ZADD──► pool ──promote──► ready ──claim──► running ──complete──► gone
//	               ▲  ▲                                │ │
//	               │  └────────── requeue ◄────────────┘ └──bury──► dead ──replay──► pool
//
// takedead takes a single record out of dead, into pool or for good; restore puts it back; runnow makes a text of pool due;
// retime gives one another due time, so that untime can give it the old one back.
// renew moves a running job's lease on; expired reads the claims whose lease has ended.
package compat
