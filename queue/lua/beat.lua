-- beat.lua: writes what a sidecar says of itself, also into a Redis that is full.
--
-- KEYS[1]  alive  HASH  sidecar -> its heartbeat as JSON
-- ARGV[1]  the sidecar
-- ARGV[2]  its heartbeat
--
-- Returns 1 where Redis is at maxmemory and refuses what producers write, else 0; and 2 more where none of the
-- sidecar's lay there. At maxmemory a removal that removes nothing comes first, and lets the rest through: that a
-- sidecar lives has to be known then of all times.

local reply = redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[2])
if type(reply) ~= 'table' or not reply.err then return reply * 2 end
if not string.find(reply.err, 'OOM', 1, true) then return reply end
redis.call('HDEL', KEYS[1], '')
return 1 + redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) * 2
