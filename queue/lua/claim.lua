-- claim.lua: ready -> running. Takes the oldest texts, each under a lease of its own.
--
-- KEYS[1]  ready    LIST  texts
-- KEYS[2]  running  ZSET  texts; score = lease, the deadline in ms
-- KEYS[3]  pool     ZSET  texts; score = due time in the topic's unit
-- ARGV[1]  texts to take at most; 0 touches the keys and moves nothing
-- ARGV[2]  length of the lease, ms
-- ARGV[3]  milliseconds in one unit of the pool's scores: 1 or 1000
-- ARGV[4]  bytes of texts after which no more are taken
--
-- Returns {now, lease, twins, merged, text, text, ...}: now by TIME, us; the lease of the first text,
-- '' when none was looked at: each text after it has a lease 1/2048 ms later; twins = texts put off to
-- the pool, since an identical one runs: false stands in their place; merged = of those, how many the
-- pool had. For the legacy pop_mark.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
local reply = {string.format('%d%06d', t[1], t[2]), '', 0, 0}
redis.call('ZREMRANGEBYRANK', KEYS[2], 1, 0) -- as in promote: meet every refusal first
redis.call('ZREMRANGEBYRANK', KEYS[3], 1, 0)
local texts, bytes, want, most = {}, 0, 1, tonumber(ARGV[1])
repeat -- one, then ever more at a time, so that large ones do not fill Redis's memory
  local some = redis.call('LRANGE', KEYS[1], #texts, #texts + want - 1)
  for i = 1, #some do
    if bytes >= tonumber(ARGV[4]) or #texts >= most then break end
    texts[#texts + 1], bytes = some[i], bytes + #some[i]
  end
  local full = #some < want or bytes >= tonumber(ARGV[4])
  want = full and 0 or math.min(most - #texts, 2 * want)
until want <= 0
local n = #texts
if n == 0 then return reply end

-- Renewals end on a whole millisecond, and old workers' leases too: the claims' never do, and none lies
-- between them (docs/decisions/0016). Those of the next call come after these: it takes longer than they do.
local first = now + 0.0005 + ARGV[2]
if math.floor(first) < math.floor(first + n / 2048) then first = math.ceil(first) + 0.0005 end
local scored = {}
for i = 1, n do scored[2 * i - 1], scored[2 * i] = string.format('%.17g', first + (i - 1) / 2048), texts[i] end
reply[2] = scored[1]
local added = redis.call('ZADD', KEYS[2], 'NX', unpack(scored))
for i = 1, n do
  local held = added < n and tonumber(redis.call('ZSCORE', KEYS[2], texts[i]))
  if not held or held == tonumber(scored[2 * i - 1]) then
    reply[4 + i] = texts[i]
  else -- its twin runs: wait until that lease ends, and not for ever if it never does
    local back = math.max(now + 1000, math.min(held, now + ARGV[2]))
    local new = redis.call('ZADD', KEYS[3], 'NX', back / ARGV[3], texts[i])
    reply[3], reply[4], reply[4 + i] = reply[3] + 1, reply[4] + 1 - new, false
  end
end
redis.call('LTRIM', KEYS[1], n, -1)
return reply
