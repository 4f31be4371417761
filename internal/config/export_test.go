package config

import (
	"maps"
	"slices"
)

// Home is a table of the file and the keys it knows.
type Home struct {
	Name string
	Keys []string
}

// Schema lists the tables of the file with every key they know.
func Schema() []Home {
	var all []Home
	for _, h := range schema() {
		all = append(all, Home{h.name, h.keys})
	}
	return all
}

// OptionNames lists the options of which Diff tells, by table.
func OptionNames(c *Config) map[string][]string {
	names := map[string][]string{}
	for table, all := range tablesOf(c) {
		names[table] = slices.Sorted(maps.Keys(all))
	}
	return names
}
