package config

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
