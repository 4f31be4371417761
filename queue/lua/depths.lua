-- depths.lua: reads how many texts lie where.
--
-- KEYS[1]     pool     ZSET  texts; score = due time in the topic's unit
-- KEYS[2]     running  ZSET  texts; score = lease, the deadline in ms
-- KEYS[3]     dead     LIST  dead records
-- KEYS[4..]   ready    LIST  texts; of a list with shards several
-- ARGV[1]     milliseconds in one unit of the pool's scores: 1 or 1000
--
-- Returns {now, pool, due, running, dead, oldest, latest, ready, ...}: now by TIME, us; oldest and latest
-- = the pool's lowest and highest score, '' when it is empty; ready = the length of each.

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
for i = 4, #KEYS do reply[4 + i] = redis.call('LLEN', KEYS[i]) end
return reply
