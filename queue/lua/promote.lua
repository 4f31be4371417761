-- promote.lua: pool -> ready. Moves the texts that are due, oldest first.
--
-- KEYS[1]  pool   ZSET  texts; score = due time in the topic's unit
-- KEYS[2]  ready  LIST  texts
-- ARGV[1]  batch, texts to move at most
-- ARGV[2]  length of ready from which on nothing is moved
-- ARGV[3]  milliseconds in one unit of the pool's scores: 1 or 1000
--
-- Returns {now, moved, next, text, score, text, score, ...}: now by TIME, us; moved = -1 at
-- backpressure; next = the lowest score left, '' when there is none; the moved texts with their
-- scores, of a full or large batch the first one only. A batch ends at about 1 MB of texts, for one
-- script holds up everybody; then next is due, too. Stands in for the legacy delay_move (CONTRACT 1.1).

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local reply = {string.format('%d%06d', t[1], t[2]), -1, ''}
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[2]) then return reply end

local due = (t[1] * 1000 + t[2] / 1000) / ARGV[3]
local batch, limit = tonumber(ARGV[1]), 1048576
local texts, bytes, want = {}, 0, math.min(8, tonumber(ARGV[1]))
while want > 0 do -- a few show how long texts are, and so how many may follow: at most as many again
  local some = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', due, 'LIMIT', #texts, want)
  for i = 1, #some do
    texts[#texts + 1] = some[i]
    bytes = bytes + #some[i]
  end
  if #some < want or bytes >= limit then break end
  want = math.min(batch - #texts, #texts, math.ceil((limit - bytes) / (bytes / #texts + 1)))
end
reply[2] = #texts
if #texts > 0 then
  -- Printing a score costs as much as moving a text, so a full batch shows its oldest only.
  local last = #texts < batch and bytes < 262144 and #texts - 1 or 0
  local oldest = redis.call('ZRANGE', KEYS[1], 0, last, 'WITHSCORES')
  for i = 1, #oldest do reply[3 + i] = oldest[i] end
  -- The removal that removes nothing meets every refusal before the first change, and after a
  -- write that takes no memory Redis lets a script go on at maxmemory.
  redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0)
  redis.call('RPUSH', KEYS[2], unpack(texts))
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #texts - 1) -- from -inf on: their ranks are 0 to n-1
end
reply[3] = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or ''
return reply
