-- runnow.lua: pool -> pool. Makes a text due now that waits there for its time.
--
-- KEYS[1]  pool  ZSET  texts; score = due time in the topic's unit
-- ARGV[1]  the text
-- ARGV[2]  milliseconds in one unit of the pool's scores: 1 or 1000
--
-- Returns 1, or 2 when it has been due already, or 0 when it is not there: nothing changed then.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = (t[1] * 1000 + t[2] / 1000) / ARGV[2]
local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
if not score then return 0 end
if score <= now then return 2 end
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: or ZADD is refused at maxmemory
redis.call('ZADD', KEYS[1], 'XX', now, ARGV[1])
return 1
