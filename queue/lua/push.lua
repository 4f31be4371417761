-- push.lua: -> pool. Adds a text as a producer does, at a due time by Redis's clock.
--
-- KEYS[1]  pool  ZSET  texts; score = due time in the topic's unit
-- ARGV[1]  the text
-- ARGV[2]  its delay, ms
-- ARGV[3]  milliseconds in one unit of the pool's scores: 1 or 1000
--
-- Returns 1, or 0 when the pool had the text and only its due time was changed.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
return redis.call('ZADD', KEYS[1], (t[1] * 1000 + t[2] / 1000 + ARGV[2]) / ARGV[3], ARGV[1])
