-- pause.lua: pauses a topic for all sidecars, or takes a pause back.
--
-- KEYS[1]  paused  HASH  topic -> a pause as JSON
-- ARGV[1]  topic
-- ARGV[2]  the pause, '' = none any more
-- ARGV[3]  only if this is the pause that is there; '' = whatever is
--
-- Returns the pause that was there before, which may be '', or nil when there was none.

local before = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[3] ~= '' and before ~= ARGV[3] then return before end
redis.call('HDEL', KEYS[1], ARGV[1]) -- first, as in audit: or HSET is refused at maxmemory
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
return before
