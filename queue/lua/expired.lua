-- expired.lua: reads the claims whose lease has ended, the longest ended first. It changes nothing:
-- they are settled by requeue and bury, under the lease that was read.
--
-- KEYS[1]  running  ZSET  texts; score = lease, the deadline in ms
-- ARGV[1]  claims to read at most
--
-- Returns {now, text, lease, text, lease, ...}: now by TIME, us; leases as ZSCORE prints them.

local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
local claims = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
table.insert(claims, 1, string.format('%d%06d', t[1], t[2]))
return claims
