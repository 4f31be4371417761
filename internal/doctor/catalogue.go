package doctor

import "slices"

// Kind is what all findings of one id have in common.
type Kind struct {
	ID    string
	Level Level // the usual one
	Why   string
	Do    string // unless the finding knows better
}

// Catalogue returns every kind of finding there is, in the order in which those of one level are told.
func Catalogue() []Kind { return slices.Concat(redisKinds, keyKinds, fpmKinds, phpKinds, settingKinds) }

// kindOf returns the kind with that id.
func kindOf(id string) Kind {
	for _, k := range Catalogue() {
		if k.ID == id {
			return k
		}
	}
	panic("doctor: no finding is called " + id)
}

// rankOf returns where in the catalogue an id stands.
func rankOf(id string) int {
	return slices.IndexFunc(Catalogue(), func(k Kind) bool { return k.ID == id })
}

var redisKinds = []Kind{
	{"redis-down", Fault, "nothing can be consumed, and nothing about Redis can be looked at", "start Redis, or mend [redis] in the configuration"},
	{"redis-unfit", Fault, "jobs are moved by Lua scripts that read Redis's clock; no other way is safe", "use Redis 3.2 or newer, or Valkey, with EVAL allowed"},
	{"redis-role", Fault, "only a master takes writes", "let url or addrs lead to the master, or use sentinel"},
	{"redis-several-masters", Fault, "one job may be claimed on each of them", "let producers and sidecars use one server alone"},
	{"redis-cluster-node", Fault, "keys lie on several nodes, and this client does not follow them", "set cluster = true with its nodes in addrs, and give each topic a hash tag"},
	{"redis-cluster-slots", Fault, "topics whose slots nobody serves stand still", "redis-cli --cluster check HOST:PORT, then --cluster fix"},
	{"redis-eviction", Fault, "when memory is full Redis deletes whole queues, jobs and all", "redis-cli CONFIG SET maxmemory-policy noeviction, and the same line in redis.conf"},
	{"redis-eviction-unknown", Note, "any policy but noeviction can delete jobs", "grant +info to the user, or look for maxmemory-policy noeviction yourself"},
	{"redis-evicted", Fault, "jobs may have been among the keys that are gone", "redis-cli CONFIG SET maxmemory-policy noeviction, give Redis more memory, and look for jobs that are missing; CONFIG RESETSTAT begins the count anew"},
	{"redis-memory-full", Fault, "at maxmemory Redis refuses what producers write; what the sidecars have in hand goes on", "raise maxmemory, or find out what fills it: redis-cli --bigkeys shows the largest keys, mostly others', and sidecar status what the topics hold"},
	{"redis-memory-unbounded", Note, "without maxmemory the kernel kills Redis when memory is short", "redis-cli CONFIG SET maxmemory 1gb (what the host can spare), and the same line in redis.conf"},
	{"redis-persistence", Fault, "with AOF and RDB off every job is lost when Redis restarts", "redis-cli CONFIG SET appendonly yes, and the same line in redis.conf"},
	{"redis-rdb-only", Warning, "a crash of Redis loses the jobs since the last snapshot, and brings back those that were done since", "redis-cli CONFIG SET appendonly yes, and the same line in redis.conf"},
	{"redis-fsync", Warning, "the kernel decides when jobs reach the disk: a power cut may lose half a minute", "redis-cli CONFIG SET appendfsync everysec, and the same line in redis.conf"},
	{"redis-save-failed", Fault, "jobs since then are on no disk, and Redis may refuse writes until it can save", "see Redis's log: mostly the disk is full, or dir is not writable"},
	{"redis-replica-lag", Warning, "a failover now would lose the jobs that the replica has not got", "look at the replica and the network between; INFO replication"},
	{"redis-failover", Warning, "replication is asynchronous: a master that is cut off goes on taking jobs that a failover throws away", "redis-cli CONFIG SET min-replicas-to-write 1 and CONFIG SET min-replicas-max-lag 10, and the same lines in redis.conf; with one replica alone Redis then takes no jobs while that is away"},
	{"redis-clock", Warning, "due times go by Redis's clock; producers that write them by another clock are that much off", "run NTP (chrony) on both hosts"},
	{"redis-old", Note, "before Redis 6 the server cannot tell of new jobs: they are looked for every scan_interval", "Redis 6 or newer; nothing breaks without"},
	{"redis-slow-ours", Warning, "while one script runs Redis serves nobody else", "lower batch; see whether texts are very long, or the host is short of processor time"},
	{"redis-slow-others", Warning, "while such a command runs no job moves; leases are renewed late", "use SCAN instead of KEYS, ranges instead of whole keys; redis-cli SLOWLOG GET shows them"},
	{"redis-maxclients", Warning, "the next client is refused, a producer maybe", "redis-cli CONFIG SET maxclients 10000, or find out who holds connections: CLIENT LIST"},
	{"redis-timeout", Note, "Redis closes idle connections; producers that keep theirs meet an error at the next job", "redis-cli CONFIG SET timeout 0, and the same line in redis.conf"},
	{"redis-keepalive", Note, "connections of hosts that are gone are never closed, and count against maxclients", "redis-cli CONFIG SET tcp-keepalive 300, and the same line in redis.conf"},
	{"redis-overcommit", Warning, "Redis forks to save; without overcommit the fork fails when memory is half used", "sysctl vm.overcommit_memory=1, and the same line in /etc/sysctl.d/"},
	{"redis-hugepages", Note, "transparent huge pages make Redis slow while it saves", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"},
	{"redis-cluster-coverage", Note, "when the nodes of one slot are down all topics stand still, not only those there", "redis-cli CONFIG SET cluster-require-full-coverage no, on each node"},
	{"redis-unasked", Note, "what would have been looked at there is not known", "grant the command to the user that runs the doctor, or look yourself"},
	{"redis-consumers", Note, "beside old consumers jobs are shared and none is run by both; but what those pop dies with them, and their leases are not renewed", "keep visible-ms of the old one above its longest job; when all is moved over, stop it"},
}

var keyKinds = []Kind{
	{"key-rights", Fault, "a job that can be claimed and not be settled is better left alone: the topic is not consumed", "docs/redis-user.md has the ACL line"},
	{"key-type", Fault, "scripts on the key fail, and the topic stands still", "find out who writes it; rename it, then the topic goes on: redis-cli RENAME KEY KEY.wrong"},
	{"key-ttl", Fault, "Redis deletes the key with all jobs in it when that time is over", "redis-cli PERSIST KEY, and find out who calls EXPIRE"},
	{"key-prefix", Warning, "with another prefix the sidecar sits idle for ever, beside full queues", "set key_prefix in [redis] to what PHP's client puts before every key"},
	{"key-database", Warning, "in another database the sidecar sits idle for ever, beside full queues", "set db in [redis], or the number at the end of url"},
	{"key-unit", Fault, "due times in another unit are 1000 times too early or too late", "set score_unit, or mend the producer"},
	{"text-encoded", Fault, "such a text is no JSON to the sidecar, and goes to dead", `set encoding = "auto"`},
	{"text-unreadable", Fault, "such a text cannot be run; it goes to dead with its reason", "mend the producer that writes it. The text stays as it is in dead: sidecar dead export TOPIC shows it; push it mended, then dead drop the old one"},
	{"claims-overdue", Warning, "the jobs of a consumer that died wait for somebody to take them over, and nobody looks", "start the sidecar: sidecar run"},
	{"jobs-late", Warning, "jobs that are due wait: nobody consumes, or not fast enough", "see whether the sidecar runs and what /readyz says; else raise children and workers"},
	{"dead-growing", Warning, "something has begun to fail", "sidecar dead list TOPIC --by error counts why; mend it, then sidecar dead replay TOPIC --limit 0 --rate 50/s, which --like ERROR narrows down to one cause"},
	{"runs-cut-short", Warning, "the application's own log mostly has no word of such a run, as its worker was killed; each counts against its job, which is dead after some", "see PHP-FPM's log for crashes, sidecar peek TOPIC --running for timeouts"},
	{"shards-left", Fault, "nobody takes what is in them", "set shards to what producers use, or let the old worker empty them first"},
	{"topic-paused", Note, "no sidecar claims its jobs until then", "sidecar resume TOPIC"},
	{"topic-breaker", Warning, "its runs fail with one error: but for a job now and then nothing of it runs there", "mend what the error says; the next job that is done ends it"},
	{"topic-rate", Note, "as many jobs run there as its rate grants; the others wait", "raise rate, or wait"},
	{"topic-unserved", Fault, "the sidecars that live do not know the topic: nobody consumes it", "give the sidecar.toml of each host the topic, then sidecar reload there, or systemctl reload sidecar"},
	{"sidecar-none", Fault, "jobs wait, and no sidecar says that it lives", "start it: systemctl start sidecar, or sidecar run"},
	{"sidecar-silent", Warning, "it has died, or cannot reach Redis; what it had in hand comes back when its leases end", "look at its log on its host: journalctl -u sidecar"},
	{"sidecar-idle", Warning, "it lives, and what it names does not run there", "mend what it names; it said so within the last 10 s"},
	{"reload-refused", Warning, "it goes on with the settings of before, and its next start would fail", "mend what it says, on its host; sidecar check tells whether the file holds, then sidecar reload, or systemctl reload sidecar"},
	{"sidecar-unread", Warning, "its heartbeat cannot be read (another version?): which topics it has, and what holds them there, is not known", "bring all to one version; one that is gone is forgotten a day after it was last heard of"},
	{"sidecar-versions", Note, "an old and a new sidecar work on the same keys, but what is new only one does", "bring all to one version"},
	{"sidecar-config", Warning, "which of the two runs a job decides what becomes of it; during a deploy that is so for a moment", "bring both hosts to one sidecar.toml, then sidecar reload, or systemctl reload sidecar, there"},
	{"jobs-lost", Fault, "they are in no key any more: nobody runs them. This is told of for a day", "restore what a copy of Redis's files has, have producers send them anew, and see that Redis keeps its data: redis-persistence, redis-rdb-only"},
	{"alert-target", Warning, "alarms reach nobody there", "mend it, then: sidecar alert test TARGET"},
	{"topic-unconfigured", Note, "its jobs are none of this sidecar's; nobody else may consume them, either", "give it a [topic.NAME], or leave it to the consumer it has"},
}

var fpmKinds = []Kind{
	{"fpm-down", Fault, "no job of the pool can run; nothing is counted, and they wait", "start PHP-FPM, or set listen as the pool has it"},
	{"fpm-socket-user", Fault, "the service cannot connect, although this user can", "set listen.owner or listen.group, and listen.mode = 0660, in the pool's file; or run the service as the pool's user"},
	{"fpm-allowed-clients", Fault, "PHP-FPM closes connections from any other address", "add this host's address to listen.allowed_clients"},
	{"fpm-children", Fault, "jobs beyond pm.max_children wait in the backlog, where web requests wait as well", "lower children, or raise pm.max_children"},
	{"fpm-children-all", Note, "when jobs occupy every child a web request has to wait until they make way", "a pool of its own for jobs, or fewer children"},
	{"fpm-workers", Fault, "workers that stay hold all children: other topics of the pool never get one", "lower min_workers, or raise children"},
	{"fpm-busy", Warning, "all children are taken; jobs and requests queue", "raise pm.max_children, or find out what they wait for"},
	{"fpm-limit-reached", Warning, "the pool has been full: requests have waited", "raise pm.max_children, or give jobs a pool of their own"},
	{"fpm-queue", Warning, "requests wait for a child right now", "raise pm.max_children, or lower children so that web requests go first"},
	{"fpm-terminate", Fault, "PHP-FPM kills the child in the middle of a job: that counts as a crash, not as a timeout", "set request_terminate_timeout = 0 in a pool for jobs, or above the longest timeout"},
	{"fpm-reload", Warning, "a reload of PHP-FPM kills the jobs that run", "set process_control_timeout = 10s in [global] of php-fpm.conf"},
	{"fpm-spawn", Note, "children are started when jobs come, and each start costs time", "pm = static in a pool for jobs"},
	{"fpm-status", Note, "without the status page jobs do not make way for web requests, and FPM's queue is not seen", `pm.status_path = /status in the pool's file, and status = "/status" in [fpm.NAME]`},
	{"fpm-status-refused", Warning, "jobs do not make way for web requests, although they were meant to", "set pm.status_path in the pool's file to what status says, or status to what the pool has"},
	{"fpm-slow", Note, "the pool's slow log has entries", "look into the file that slowlog names"},
	{"fpm-web", Note, "jobs and web requests share the children", "a pool of its own for jobs is best"},
	{"fpm-unread", Note, "pm.max_children, request_terminate_timeout and process_control_timeout are not compared", "run the doctor on FPM's host as a user that may read its files"},
	{"bridge-dir", Fault, "the bridge, which runs the jobs, cannot be written there", "make it for the service's user, whom nobody else may write beside: sudo install -d -o USER -m 0750 DIR (the service makes /run/sidecar when it starts); or set bridge_dir to another"},
	{"bridge-dir-user", Note, "the directory is the service's; what PHP sees was not looked at", "run it as the service's user: sudo -u USER sidecar doctor"},
	{"bridge-unreadable", Fault, "no job can run: PHP-FPM cannot read the sidecar's files there", "let bridge_dir be readable for the pool's user, inside its chroot and its open_basedir; or deploy bridge.php and set bridge_path"},
	{"bridge-old", Warning, "an old bridge and a new sidecar may not understand each other", "deploy php-client/bridge.php of this version to bridge_path"},
	{"bridge-beside", Note, "what PHP sees was not looked at", "deploy php-client/doctor.php beside bridge_path"},
	{"php-broken", Fault, "PHP ends whatever the sidecar runs in this pool: the bridge as well, so no job runs", "mend what it says: auto_prepend_file, disable_functions and extensions of the pool; sidecar try TOPIC JSON runs one job"},
	{"php-unasked", Note, "what PHP sees was not looked at", "see the reason; sidecar try TOPIC JSON runs one job"},
	{"service-rights", Note, "the sidecar cannot signal the pool's children: a script that runs too long is stopped through PHP, when a child is free for that", "run the service as the pool's user"},
}

var phpKinds = []Kind{
	{"php-version", Fault, "the bridge is written for PHP 7.2 and newer", "use a newer PHP"},
	{"script-missing", Fault, "the topic's jobs cannot run; they wait until it is there", "deploy it, or mend script; the path is as PHP sees it"},
	{"script-unreadable", Fault, "the topic's jobs cannot run; they wait", "chmod a+r the file, or chgrp it to the pool's group"},
	{"script-outside", Fault, "open_basedir keeps PHP from the file", "add its directory to open_basedir in the pool's file"},
	{"script-syntax", Fault, "PHP cannot compile it: the topic's jobs fail", "mend it: php -l FILE"},
	{"script-unparsed", Note, "whether it parses was not looked at", "php -l FILE"},
	{"php-display-errors", Warning, "PHP prints errors into the output, and answers 200 where an error would have been a 500", "php_admin_flag[display_errors] = off in the pool's file"},
	{"php-functions", Warning, "disable_functions takes what the bridge uses to tell how a job ended", "take them off disable_functions in a pool for jobs"},
	{"php-posix", Warning, "a script that runs too long cannot be stopped from inside PHP, nor, by this user, from outside", "install PHP's posix extension, or run the service as the pool's user"},
	{"php-memory-unlimited", Note, "one job can take all of the host's memory", "set memory_limit in the pool's file, or in the topic"},
	{"php-memory-worker", Warning, "the worker dies of memory_limit in a job before max_memory replaces it between two", "set max_memory well below memory_limit"},
	{"php-time-limit", Note, "PHP ends jobs that use more processor time than that, whatever timeout says", "php_admin_value[max_execution_time] = 0 in a pool for jobs"},
	{"php-timezone", Warning, "times in dead records are off from what PHP writes", "set timezone to PHP's date.timezone"},
	{"php-clock", Warning, "PHP's host has another time than this one: due times that PHP writes by its clock are off", "run NTP (chrony) on both hosts"},
	{"opcache-off", Note, "PHP compiles every file anew for every job", "opcache.enable = 1"},
	{"opcache-deploy", Warning, "after a deploy PHP goes on with the old code until PHP-FPM is reloaded", "reload PHP-FPM with each deploy, or opcache.validate_timestamps = 1 in the pool for jobs"},
	{"opcache-late", Note, "after a deploy PHP goes on with the old code for so long", "opcache.revalidate_freq = 2, or reload PHP-FPM with each deploy"},
	{"opcache-file-cache", Note, "old code may come back from the disk after a restart", "empty the directory with each deploy, or unset opcache.file_cache"},
	{"opcache-full", Warning, "files that do not fit are compiled anew for every job, and the cache starts anew at its worst", "raise opcache.memory_consumption and opcache.max_accelerated_files"},
	{"spool-unreachable", Fault, "jobs that PHP stored while Redis was away stay there", "see the reason: the pool's user needs the driver and the file, or the database"},
	{"spool-waiting", Warning, "these jobs wait for somebody to bring them in", "sidecar spool drain NAME, or set drain_every"},
}

var settingKinds = []Kind{
	{"config-doubtful", Warning, "it works, but was hardly meant so", "see the line of the configuration"},
	{"lease-long", Note, "the jobs of a sidecar that died wait so long before another takes them over", "lease = \"30s\" is enough for jobs of any length: it is renewed while they run"},
	{"lease-short", Note, "it is renewed every third of it: a pause of Redis, or of this host, that is longer lets a job run twice", "lease = \"30s\""},
	{"grace-service", Warning, "systemd kills the sidecar before it has finished the jobs in hand, and their scripts go on unwatched", "set TimeoutStopSec in the unit above grace: systemctl edit sidecar"},
	{"pid-file", Warning, "a release script that reads it signals the wrong process, or none", "start the sidecar, which writes it anew; or remove the file"},
	{"undo-dir", Warning, "the dashboard refuses to replay and to drop: what cannot be undone is not done", "let admin.undo_dir be a directory that the service's user can write: sudo install -d -o USER -m 0700 DIR"},
	{"host-files", Warning, "connections to Redis and PHP-FPM fail when the limit is reached", "LimitNOFILE=65536 in the unit: systemctl edit sidecar"},
	{"service-user", Note, "what this user may read and reach, the service may not, and the other way round", "run it as the service's user: sudo -u USER sidecar doctor"},
	{"service-unknown", Fault, "the service cannot start", "create the user, or set User= in the unit: systemctl edit sidecar"},
}
