package compat

// SpoolMarks returns the key that says which rows of the spool called name are in key, a pool or a list without prefix.
// It is ours, and in the Cluster slot of key: by key's own hash tag, or else with all of key for a tag.
func SpoolMarks(prefix, key, name string) string {
	const role = "sidecar:spool:"
	if own := prefix + role + key + ":" + name; HashSlot(own) == HashSlot(prefix+key) {
		return own
	}
	return prefix + role + "{" + prefix + key + "}:" + name
}
