-- retime.lua: pool -> pool. Gives a text that waits there another due time, once for each ticket.
--
-- KEYS[1]  pool   ZSET  texts; score = due time in the topic's unit
-- KEYS[2]  moved  ZSET  tickets, as in takedead
-- ARGV[1]  ticket
-- ARGV[2]  the text
-- ARGV[3]  its score as it was read
-- ARGV[4]  its new one
-- ARGV[5]  tickets to keep at most
--
-- Returns 1 = done, 2 = this ticket has done it before; 0 = it does not wait there with that score. But for 1
-- nothing changed.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
if redis.call('ZSCORE', KEYS[2], 't' .. ARGV[1]) or redis.call('ZSCORE', KEYS[2], 'u' .. ARGV[1]) then return 2 end
local score = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not score or tonumber(score) ~= tonumber(ARGV[3]) then return 0 end
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: or ZADD is refused at maxmemory
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -ARGV[5])
redis.call('ZADD', KEYS[2], t[1] * 1000 + t[2] / 1000, 't' .. ARGV[1])
redis.call('ZADD', KEYS[1], 'XX', ARGV[4], ARGV[2])
return 1
