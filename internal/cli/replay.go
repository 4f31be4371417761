package cli

import "flag"

// replayLimit is the old replay script's: a replay of everything at once has brought systems down (CONTRACT 1.5).
const replayLimit = 10

func replayVerb() verb {
	return verb{
		name:  "replay",
		usage: "TOPIC [--limit 10] [--dry-run] [--raw] [--undo-dir DIR]",
		short: "put the oldest dead jobs back into the pool or list",
		long: `
Takes the oldest jobs of delay:dead:TOPIC and puts them into the pool, due now, with retry back at 0 and
replayed_at set; each in one atomic step. A record that holds no job stays where it is and is reported; so does
one whose text is no JSON object, since it would only come back to dead: --raw puts its bytes into the pool all the same.
Of a list it takes the oldest dead letters that are this list's, and puts them into their shard with retry_count back at 0.
Prints one line a job. --dry-run shows what would be replayed and changes nothing.
It is sidecar dead replay in short, which chooses by error, time, type and uuid; sidecar dead undo takes it back.`,
		flags: func(fs *flag.FlagSet) any {
			f := &deadReplayFlags{short: true}
			replayFlags(fs, f)
			return f
		},
		run: func(env Env, c call) int {
			return replayDead(env, c, replayVerb(), c.flags.(*deadReplayFlags))
		},
	}
}
