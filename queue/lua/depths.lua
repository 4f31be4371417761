-- depths.lua: reads how many texts lie where.
--
-- KEYS[1]     pool     ZSET  texts; score = due time in the topic's unit
-- KEYS[2]     running  ZSET  texts; score = lease, the deadline in ms
-- KEYS[3]     dead     LIST  dead records
-- KEYS[4..]   ready    LIST  texts; of a list with shards several
-- ARGV[1]     milliseconds in one unit of the pool's scores: 1 or 1000
-- ARGV[2]     bytes that a text of ready may have to be returned; 0 = none is
--
-- Returns {now, pool, due, running, dead, oldest, latest, ready, ..., text, ...}: now by TIME, us; oldest
-- and latest = the pool's lowest and highest score, '' when it is empty; ready = the length of each; text =
-- its last one, which of a list is the oldest: producers LPUSH. '' where there is none to return.

local t = redis.call('TIME') -- seconds, microseconds
local due = (t[1] * 1000 + t[2] / 1000) / ARGV[1]
local reply = {
  string.format('%d%06d', t[1], t[2]),
  redis.call('ZCARD', KEYS[1]),
  redis.call('ZCOUNT', KEYS[1], '-inf', due),
  redis.call('ZCARD', KEYS[2]),
  redis.call('LLEN', KEYS[3]),
  redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or '',
  redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] or '',
}
for i = 4, #KEYS do
  reply[4 + i] = redis.call('LLEN', KEYS[i])
  local text = ARGV[2] ~= '0' and redis.call('LRANGE', KEYS[i], -1, -1)[1] or ''
  reply[1 + #KEYS + i] = #text <= tonumber(ARGV[2]) and text or ''
end
return reply
