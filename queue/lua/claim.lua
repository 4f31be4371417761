-- claim.lua: ready -> running. Takes the oldest texts, all under one lease.
--
-- KEYS[1]  ready    LIST  texts
-- KEYS[2]  running  ZSET  texts; score = lease, the deadline in ms
-- KEYS[3]  pool     ZSET  texts; score = due time in the topic's unit
-- ARGV[1]  texts to take at most; 0 touches the keys and moves nothing
-- ARGV[2]  length of the lease, ms
-- ARGV[3]  milliseconds in one unit of the pool's scores: 1 or 1000
-- ARGV[4]  bytes of texts after which no more are taken
--
-- Returns {now, lease, twins, merged, text, text, ...}: now by TIME, us; the lease as ZSCORE prints
-- it, which renew, complete, requeue and bury want back unread; twins = texts put off to the pool,
-- since an identical one runs; merged = of those, how many the pool had. For the legacy pop_mark.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
local reply = {string.format('%d%06d', t[1], t[2]), '', 0, 0}
redis.call('ZREMRANGEBYRANK', KEYS[2], 1, 0) -- as in promote: meet every refusal first
redis.call('ZREMRANGEBYRANK', KEYS[3], 1, 0)
local texts, bytes, want, most = {}, 0, 1, tonumber(ARGV[1])
repeat -- a few at a time, as short as those seen, so that large ones do not fill Redis's memory
  local some = redis.call('LRANGE', KEYS[1], #texts, #texts + want - 1)
  for i = 1, #some do
    if bytes >= tonumber(ARGV[4]) or #texts >= most then break end
    texts[#texts + 1], bytes = some[i], bytes + #some[i]
  end
  local full = #some < want or bytes >= tonumber(ARGV[4])
  want = full and 0 or math.min(most - #texts, 32)
until want <= 0
local n = #texts
if n == 0 then return reply end

-- Renewals end on a whole millisecond: the half microsecond keeps a claim's lease apart from them.
local lease = now + 0.0005 + ARGV[2]
local scored, score = {}, string.format('%.17g', lease)
for i = 1, n do scored[2 * i - 1], scored[2 * i] = score, texts[i] end
local added = redis.call('ZADD', KEYS[2], 'NX', unpack(scored))
local seen = {}
for i = 1, n do
  local held = added < n and tonumber(redis.call('ZSCORE', KEYS[2], texts[i])) or lease
  if held == lease and not seen[texts[i]] then
    seen[texts[i]] = added < n
    reply[#reply + 1] = texts[i]
  else -- its twin runs: wait until that lease ends, and not for ever if it never does
    local back = math.max(now + 1000, math.min(held, now + ARGV[2]))
    local new = redis.call('ZADD', KEYS[3], 'NX', back / ARGV[3], texts[i])
    reply[3], reply[4] = reply[3] + 1, reply[4] + 1 - new
  end
end
redis.call('LTRIM', KEYS[1], n, -1)
if reply[5] then reply[2] = redis.call('ZSCORE', KEYS[2], reply[5]) end
return reply
