package faults

func kindsOfProcess() []kind { return nil }

func mixture(all []kind) kind { return kind{name: "mixed", about: "all of them"} }
