package dash

// alarmMessages say what an alarm's rule was measured against.
var alarmMessages = map[string]message{
	"alarm.limit":         {"%s %s, limit %s", "%s %s，上限 %s"},
	"alarm.why":           {"%s: %s", "%s：%s"},
	"alarm.backlog":       {"Jobs due and ready:", "积压任务（到期与就绪）"},
	"alarm.oldest_due":    {"The oldest due job waits for", "最早到期任务已等待"},
	"alarm.dead":          {"Dead jobs:", "死信数"},
	"alarm.dead_per_hour": {"New dead jobs within an hour:", "一小时内新增死信"},
	"alarm.failed_share":  {"Share of failed runs:", "失败率"},
	"alarm.paused_for":    {"Paused for", "已暂停"},
	"alarm.redis_latency": {"Redis answers after", "Redis 响应耗时"},
	"alarm.stalled":       {"Jobs do not run", "任务不执行"},
	"alarm.fpm_down":      {"PHP-FPM does not answer", "PHP-FPM 没有响应"},
	"alarm.fpm_full":      {"PHP-FPM takes no job: no free worker, or it hangs (see its status page: find the slow scripts or give it more children; restart it if it hangs)", "PHP-FPM 不接任务：没有空闲进程，或已卡住（请查看其状态页：排查慢脚本或增加子进程；若已卡住请重启）"},
	"alarm.redis_away":    {"Redis is away", "Redis 不可用"},
}
