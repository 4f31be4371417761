// Package fastcgi turns one job into one outcome: it runs the team's PHP code through PHP-FPM and finds out
// how the run ended. It knows nothing of queues.
//
// # The way of a run
//
//	Topic.Acquire   a slot, while the gates of pool and topic are open
//	Topic.Handle    dial ── request ──► FPM ── bridge.php: hello ──► the team's code ── sign ──► END_REQUEST
//	                        nothing counted until here ▲            ▲ the timeout counts from the hello
//	Topic.Release
//
// Success is the bridge's sign, a line only it can print, never the absence of an error: FPM answers 200 to
// exit(1), to a fatal error after flush() and to an empty request (FPM-FACTS 1). [judge] is the one place
// that decides, and it is a pure function of what was seen.
//
// # gofast
//
// gofast speaks the protocol, on a connection of ours. It takes a lost connection for a normal end, ignores
// END_REQUEST and leaks goroutines when cancelled, so that conn reads the records itself, keeps what
// matters, and shows gofast nothing but the END_REQUEST that ends its loop. One connection a job: FPM binds
// a child to each kept connection, and that gives a guarantee. While our connection is open and END_REQUEST
// has not been followed by its close, the child that said hello on it works for us alone as long as it lives,
// so that stopping it cannot hit another's request. It may die and the connection stay open all the same:
// what a script starts inherits it. So the child itself is watched, where it is on this host for certain.
//
// # Mode worker
//
// A crew is the resident workers of one topic. Each is one long request that holds a slot for its life; its bridge
// calls back over a socket of ours and gets job after job, as frames.
//
//	Topic.Acquire   permits: claims ahead, about 10 ms of work for each worker there is or could be
//	Topic.Handle    errand: pending ──► frame ──► worker ──► verdict ── next frame out first ──► outcome
//	Topic.Release
//
// There is no goroutine, timer or allocation a job beyond its caller's: whoever brings a job, or reads a verdict,
// writes the next frames itself, without a lock that others need, and outcomes are handed out after that. One
// goroutine a crew looks after everything that takes time: starts, timeouts, pings, workers that are to leave.
//
// A worker that ends costs the job in hand, which is the first it has not answered, and nothing else: what lies
// behind it has not begun once the worker is known to be gone, and goes to others. Until then, or where that cannot
// be known, nobody else gets it.
//
// # Routes
//
// Jobs of profile list name their type, and [TopicOptions].Routes say which code runs it (CONTRACT 2). One crew serves all routes
// of a topic: the frame of a job names its target, so that no worker is tied to a type. A job that no route is for is
// rejected before anything starts. The gate is the topic's: what is missing of one route shuts it, and the reason names the route.
//
// # Raw mode
//
// With bridge = false FPM runs the team's script itself. Then there is no hello and no sign: success_body must
// match the output, the timeout counts from the request, nobody knows the script's pid, so that it cannot be
// stopped (use request_terminate_timeout), and what fails behind fastcgi_finish_request() is not seen.
//
// # Gates
//
// Both gates are shut until FPM, and the topic's files, have been seen; [Pool.Run] looks. What shuts a gate:
//
//	pool    dial errors, a full backlog (EAGAIN), descriptors used up (EMFILE), an answer that is no FastCGI
//	        a look, every few seconds without jobs, that finds nobody who listens
//	topic   handler, bootstrap or bridge missing or denied; a run that ended before its hello
//
// Checks open them again. Where a run was refused for what no check can see, such as a class that is not there, one job
// after the other is let through on trial, ever more seldom, and the gate opens when one has run.
package fastcgi
