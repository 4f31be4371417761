-- claimlist.lua: lists -> running. Takes the next texts of all shards in turn, each under a lease of its own.
--
-- KEYS[1]     running  ZSET  claims; score = lease, the deadline in ms
-- KEYS[2..]   lists    LIST  texts, one list a shard
-- ARGV[1]     texts to take at most; 0 touches the keys and moves nothing
-- ARGV[2]     length of the lease, ms
-- ARGV[3]     bytes of texts after which no more are taken
-- ARGV[4]     'RIGHT' = the end that texts are taken from, or 'LEFT'
-- ARGV[5]     id of this call, which no other call has
-- ARGV[6]     shard to begin with, from 0 on: whoever asks for few must not always ask the same
--
-- Returns {now, lease, 0, 0, claim, claim, ...}: now by TIME, us; the lease of the first claim, '' when
-- there is none: each claim after it has a lease 1/2048 ms later. A claim is its shard, '-', the id of
-- the call, '-', its place in it, a line feed, and the text: so equal texts stay two jobs. The reply is
-- that of claim, whose twins cannot be here.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
local reply = {string.format('%d%06d', t[1], t[2]), '', 0, 0}
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: meet every refusal first
local most, limit, right = tonumber(ARGV[1]), tonumber(ARGV[3]), ARGV[4] == 'RIGHT'
local n, bytes, want, taken = 0, 0, 1, {}
for i = 2, most == 0 and #KEYS or 0 do redis.call('LRANGE', KEYS[i], 1, 0) end
repeat -- one of each list, then ever more at a time, so that large ones do not fill Redis's memory
  local before = n
  for k = 0, #KEYS - 2 do
    local i = 2 + (k + ARGV[6]) % (#KEYS - 1)
    local from, some = taken[i] or 0, math.min(want, most - n)
    if some > 0 and bytes < limit then
      local texts = right and redis.call('LRANGE', KEYS[i], -from - some, -from - 1)
        or redis.call('LRANGE', KEYS[i], from, from + some - 1)
      for j = 1, #texts do
        local text = texts[right and #texts + 1 - j or j]
        if bytes >= limit then break end
        n, bytes, taken[i] = n + 1, bytes + #text, (taken[i] or 0) + 1
        reply[4 + n] = (i - 2) .. '-' .. ARGV[5] .. '-' .. n .. '\n' .. text
      end
    end
  end
  want = 2 * want
until n == before or n == most or bytes >= limit
if n == 0 then return reply end

-- As in claim: no renewal has such a score, and no other claim one between them (docs/decisions/0016).
local first = now + 0.0005 + ARGV[2]
if math.floor(first) < math.floor(first + n / 2048) then first = math.ceil(first) + 0.0005 end
local scored = {}
for i = 1, n do scored[2 * i - 1], scored[2 * i] = string.format('%.17g', first + (i - 1) / 2048), reply[4 + i] end
reply[2] = scored[1]
redis.call('ZADD', KEYS[1], unpack(scored))
for i, count in pairs(taken) do
  redis.call('LTRIM', KEYS[i], right and 0 or count, right and -count - 1 or -1)
end
return reply
