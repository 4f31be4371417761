package compat_test

import (
	"fmt"

	"sidecar/compat"
)

// A failed job goes back to the pool with two fields changed and every other byte as it came.
func ExampleJob() {
	job, err := compat.ParseJob(`{"uuid":"a1","retry":1,"price":10.0,"options":{},"url":"https:\/\/x"}`)
	if err != nil {
		return
	}
	fmt.Println(job.WithTries(job.Tries() + 1).WithLastError("connect to /run/db: 拒绝").Raw())
	// Output: {"uuid":"a1","retry":2,"price":10.0,"options":{},"url":"https:\/\/x","last_error":"connect to \/run\/db: 拒绝"}
}

// A text that is no job is buried with its bytes kept, and a replay gives them back.
func ExampleDeadRecord() {
	const text = `s:14:"{"uuid":"a1"}";`
	_, err := compat.ParseJob(text)
	record := compat.DeadRecord{Job: text, Error: err.Error(), At: "2024-05-01 12:34:56"}.Text()
	fmt.Println(record)

	back, err := compat.ParseDeadRecord(record)
	fmt.Println(back.ReplayText("2024-05-02 00:00:01"), err)
	// Output:
	// {"job":{"sidecar_raw":"czoxNDoieyJ1dWlkIjoiYTEifSI7"},"error":"not a JSON object: looks like a PHP-serialized value (phpredis OPT_SERIALIZER): encoding = \"auto\" unwraps a text in it","trace":"","at":"2024-05-01 12:34:56"}
	// s:14:"{"uuid":"a1"}"; <nil>
}
