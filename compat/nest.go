package compat

// nesting is the stack of open brackets: a bit each, set where it is a brace. Twenty thousand levels are
// 2.5 KB; the first 512 need no allocation.
type nesting struct {
	depth   int
	deepest int
	first   [MaxDepth / 64]uint64
	more    []uint64
}

func (n *nesting) push(brace bool) {
	if n.depth >= MaxDepth && n.depth%64 == 0 {
		n.more = append(n.more[:(n.depth-MaxDepth)/64], 0)
	}
	n.depth++
	n.deepest = max(n.deepest, n.depth)
	word, bit := n.top()
	*word &^= bit
	if brace {
		*word |= bit
	}
}

func (n *nesting) pop() { n.depth-- }

// inObject reports whether the innermost open bracket is a brace. There must be one.
func (n *nesting) inObject() bool {
	word, bit := n.top()
	return *word&bit != 0
}

// top returns where the innermost bracket's bit is.
func (n *nesting) top() (word *uint64, bit uint64) {
	level := n.depth - 1
	bit = 1 << (level % 64)
	if level < MaxDepth {
		return &n.first[level/64], bit
	}
	return &n.more[(level-MaxDepth)/64], bit
}
