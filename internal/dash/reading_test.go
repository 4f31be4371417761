package dash

import "testing"

func TestReadingsOfAlarmsAreSaidAsPeopleReadThem(t *testing.T) {
	tests := map[string]struct {
		r      Reading
		en, zh string
	}{
		"late":    {Reading{Condition: "oldest_due", Value: 455.55172, Limit: 300}, "The oldest due job waits for 7 min 36 s, limit 5 min", "最早到期任务已等待 7 分 36 秒，上限 5 分"},
		"much":    {Reading{Condition: "backlog", Value: 30000, Limit: 1000}, "Jobs due and ready: 30,000, limit 1,000", "积压任务（到期与就绪） 30,000，上限 1,000"},
		"failing": {Reading{Condition: "failed_share", Value: 0.33333, Limit: 0.2}, "Share of failed runs: 33.3 %, limit 20.0 %", "失败率 33.3 %，上限 20.0 %"},
		"slow":    {Reading{Condition: "redis_latency", Value: 0.25, Limit: 0.1}, "Redis answers after 250 ms, limit 100 ms", "Redis 响应耗时 250 毫秒，上限 100 毫秒"},
		"paused":  {Reading{Condition: "paused_for", Value: 7200, Limit: 3600, Why: "cli ann@web1"}, "Paused for 2 h, limit 1 h: cli ann@web1", "已暂停 2 小时，上限 1 小时：cli ann@web1"},
		"down":    {Reading{Condition: "fpm_down", Value: 1, Why: "connection refused"}, "PHP-FPM does not answer: connection refused", "PHP-FPM 没有响应：connection refused"},
		"full":    {Reading{Condition: "fpm_down", Value: 1, Why: "waited 10s", Cause: "full"}, "PHP-FPM takes no job: no free worker, or it hangs (see its status page: find the slow scripts or give it more children; restart it if it hangs): waited 10s", "PHP-FPM 不接任务：没有空闲进程，或已卡住（请查看其状态页：排查慢脚本或增加子进程；若已卡住请重启）：waited 10s"},
		"newer":   {Reading{Condition: "moon", Value: 1.5, Limit: 1}, "moon 1.5, limit 1", "moon 1.5，上限 1"},
	}
	for name, tt := range tests {
		if got := readingText(english, tt.r); got != tt.en {
			t.Errorf("%s: %q, want %q", name, got, tt.en)
		}
		if got := readingText(chinese, tt.r); got != tt.zh {
			t.Errorf("%s: %q, want %q", name, got, tt.zh)
		}
	}
}
