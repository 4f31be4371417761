package alert

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sidecar/queue"
)

// words are a language's.
type words struct {
	title              string // %s = name
	news               map[news]string
	severities         map[string]string
	conditions         map[kind]string
	since, after, more string
	by                 string // %s = which sidecar
	trial              string
	full               string // fpmDown where PHP-FPM is there and takes no job
}

var english = words{
	title:      "sidecar: %s",
	news:       map[news]string{firing: "FIRING", still: "STILL FIRING", recovered: "RECOVERED", trial: "TEST"},
	severities: map[string]string{Warning: "warning", Critical: "critical"},
	conditions: map[kind]string{
		backlog: "jobs due and ready", oldestDue: "oldest due job waits for", dead: "dead jobs",
		deadPerHour: "new dead jobs within an hour", failedShare: "share of failed runs", pausedFor: "paused for",
		redisLatency: "Redis answers after", stalled: "jobs do not run", fpmDown: "PHP-FPM does not answer", redisAway: "Redis is away",
	},
	since: "since %s", after: "lasted %s", more: "and %d more: sidecar alert list",
	by:    "seen by sidecar %s",
	trial: "A test message. Nothing is wrong.",
	full:  "PHP-FPM takes no job: no free worker, or it hangs (see its status page: find the slow scripts or give it more children; restart it if it hangs)",
}

var chinese = words{
	title:      "sidecar 告警：%s",
	news:       map[news]string{firing: "触发", still: "持续中", recovered: "已恢复", trial: "测试"},
	severities: map[string]string{Warning: "警告", Critical: "严重"},
	conditions: map[kind]string{
		backlog: "积压任务（到期与就绪）", oldestDue: "最早到期任务已等待", dead: "死信数",
		deadPerHour: "一小时内新增死信", failedShare: "失败率", pausedFor: "已暂停",
		redisLatency: "Redis 响应耗时", stalled: "任务不执行", fpmDown: "PHP-FPM 没有响应", redisAway: "Redis 不可用",
	},
	since: "开始于 %s", after: "持续 %s", more: "另有 %d 条：sidecar alert list",
	by:    "由 sidecar %s 发现",
	trial: "这是一条测试消息，一切正常。",
	full:  "PHP-FPM 不接任务：没有空闲进程，或已卡住（请查看其状态页：排查慢脚本或增加子进程；若已卡住请重启）",
}

func wordsOf(language string) words {
	if language == Chinese {
		return chinese
	}
	return english
}

// reading says what a condition was measured against.
func (w words) reading(r queue.AlarmReading) string {
	name := w.conditions[kind(r.Condition)]
	if r.Cause == queue.CauseFull {
		name = w.full
	}
	if kind(r.Condition).flag() {
		return strings.TrimSuffix(name+": "+short(r.Why), ": ")
	}
	text := fmt.Sprintf("%s: %s > %s", name, amount(r.Condition, r.Value), amount(r.Condition, r.Limit))
	if r.Why != "" {
		text += " (" + short(r.Why) + ")"
	}
	return text
}

// flag reports that the condition is so or not.
func (k kind) flag() bool { return k == stalled || k == fpmDown || k == redisAway }

// amount writes a value in the condition's unit.
func amount(condition string, v float64) string {
	switch kind(condition) {
	case oldestDue, pausedFor:
		return lasting(time.Duration(v * float64(time.Second)))
	case redisLatency:
		return time.Duration(v * float64(time.Second)).Round(time.Millisecond).String()
	case failedShare:
		return strconv.FormatFloat(v*100, 'f', 1, 64) + "%"
	case backlog, dead, deadPerHour, stalled, fpmDown, redisAway:
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// lasting writes a duration in full seconds.
func lasting(d time.Duration) string { return d.Round(time.Second).String() }

// Plain writes readings for the log.
func Plain(readings []queue.AlarmReading) string {
	lines := make([]string, 0, len(readings))
	for _, r := range readings {
		lines = append(lines, english.reading(r))
	}
	return strings.Join(lines, "; ")
}

// whyMost bounds reasons, which may be long errors.
const whyMost = 300

// short returns a reason as one line that no message is too small for.
func short(why string) string {
	why = strings.Join(strings.Fields(why), " ")
	if len(why) > whyMost {
		return strings.ToValidUTF8(why[:whyMost], "") + "…"
	}
	return why
}
