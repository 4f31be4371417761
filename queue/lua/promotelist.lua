-- promotelist.lua: pool -> lists. Moves the texts that are due, oldest first, each to its shard.
--
-- KEYS[1]     pool   ZSET  claims; score = due time, ms
-- KEYS[2..]   lists  LIST  texts, one list a shard
-- ARGV[1]     batch, texts to move at most
-- ARGV[2]     1 = also those that are not due yet, else 0
--
-- Returns {now, moved, next, text, score, text, score, ...}: now by TIME, us; next = the lowest score left,
-- '' when there is none; the moved texts with their scores. A batch ends at about 1 MB of texts, as in
-- promote; then next is due, too. A shard there is no longer is one of those there are.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local due = ARGV[2] == '1' and '+inf' or t[1] * 1000 + t[2] / 1000
local reply, moved, bytes = {string.format('%d%06d', t[1], t[2]), 0, ''}, 0, 0
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: meet every refusal first
repeat
  local most = math.min(8, ARGV[1] - moved)
  local some = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', due, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #some, 2 do
    local shard, text = some[i]:match('^(%d+)%-[^\n]*\n(.*)$')
    local list = 2 + (shard or '0'):sub(1, 9) % (#KEYS - 1)
    redis.call('LPUSH', KEYS[list], text or some[i])
    redis.call('ZREM', KEYS[1], some[i])
    moved, bytes = moved + 1, bytes + #some[i]
    reply[2 + 2 * moved], reply[3 + 2 * moved] = text or some[i], some[i + 1]
  end
until #some < 2 * most or moved >= tonumber(ARGV[1]) or bytes >= 1048576
reply[2] = moved
reply[3] = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or ''
return reply
