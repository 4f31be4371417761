package faults

func kindsOfRedis() []kind { return nil }
