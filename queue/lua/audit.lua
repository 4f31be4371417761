-- audit.lua: adds a line to the audit trail and drops the oldest ones.
--
-- KEYS[1]  audit  LIST  lines, the newest first
-- ARGV[1]  the line
-- ARGV[2]  lines to keep at most
--
-- Returns how many there are.

redis.call('LTRIM', KEYS[1], 0, ARGV[2] - 1) -- as in promote: or LPUSH is refused at maxmemory
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], 0, ARGV[2] - 1)
return redis.call('LLEN', KEYS[1])
