package queue

import "slices"

// ByHand is what the audit trail knows of one job, the newest first.
type ByHand struct {
	// Own are the lines of that job alone, and those by which one of these was taken back.
	Own []Audited

	// Several are the replays, drops and requeues of several jobs at once, by a file, which that job may have been among. Those that were taken back are left out.
	Several []Audited
}

// SeveralShown is how many lines about several jobs are shown of one that is nowhere.
const SeveralShown = 3

// ByHandTo finds what lines, the newest first, tell of the job that compat.PlainUUID calls uuid, in topics.
func ByHandTo(lines []Audited, uuid string, topics []string) (by ByHand) {
	back := make(map[string]Audited) // by the file of what was taken back
	nothing := make(map[string]bool) // verbs and topics whose line of the job is followed by one which says that it was not there
	for _, line := range lines {
		switch {
		case !slices.Contains(topics, line.Topic):
		case line.Verb == VerbUndo && line.Count > 0:
			back[line.File] = line
		case line.UUID == uuid && uuid != "":
			if what := line.Verb + " " + line.Topic; line.Count == 0 || nothing[what] {
				nothing[what] = line.Count == 0
				continue
			}
			if undone, is := back[line.File]; is && line.File != "" {
				by.Own = append(by.Own, undone)
			}
			by.Own = append(by.Own, line)
		case line.UUID == "" && line.Count > 0 && (line.Verb == VerbReplay || line.Verb == VerbDrop || line.Verb == VerbRequeue && line.File != ""):
			if _, undone := back[line.File]; !undone || line.File == "" {
				by.Several = append(by.Several, line)
			}
		}
	}
	return by
}
