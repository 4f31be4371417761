-- requeuelist.lua: running -> lists, or pool. Swaps texts for those that are to run again.
--
-- KEYS[1]     running  ZSET  claims; score = lease, the deadline in ms
-- KEYS[2]     pool     ZSET  claims; score = due time, ms
-- KEYS[3..]   lists    LIST  texts, one list a shard
-- ARGV[1]     'RIGHT' = the end that texts are taken from, or 'LEFT'
-- ARGV[2..]   per job seven: claim; the lease it is held under; the lease a renewal may have set, or '';
--             the new text; its delay, ms; 1 = to the end that texts are taken from, else 0; 1 = skip it
--             when its entry is gone, else 0
--
-- Returns per job, LAST JOB FIRST so that texts that go back keep their order, a number: 1 = swapped,
-- 2 = the entry was gone after its lease: it is with whoever took it; 3 = somebody else holds it, nothing
-- changed, 4 = gone: skipped, 5 = gone within its lease, added anew; or the error with which Redis
-- refused the new text, nothing changed then. Without a delay a text goes where producers put theirs,
-- as the old worker does (CONTRACT 2).

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: meet every refusal first

local function add(claim, text, delay, back)
  local id = claim:match('^%d+%-[^\n]*\n') or ''
  local list = 3 + (id:match('^%d+') or '0'):sub(1, 9) % (#KEYS - 2)
  if back == '1' and ARGV[1] == 'RIGHT' then return redis.pcall('RPUSH', KEYS[list], text) end
  if back == '1' or delay <= 0 then return redis.pcall('LPUSH', KEYS[list], text) end
  return redis.pcall('ZADD', KEYS[2], now + delay, id .. text)
end

local reply = {}
for i = #ARGV - 6, 2, -7 do
  local claim, held, next = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local score, result = tonumber(redis.call('ZSCORE', KEYS[1], claim)), 1
  if not score then
    -- Only a person, or a Redis that lost data, takes an entry away within its lease: nobody else has the text.
    result = ARGV[i + 6] == '1' and 4 or (held or 0) > now and 5 or 2
  elseif score ~= held and score ~= next then
    result = 3
  end
  if result == 1 or result == 5 then
    local added = add(claim, ARGV[i + 3], tonumber(ARGV[i + 4]), ARGV[i + 5])
    if type(added) == 'table' then
      result = added.err
    elseif result == 1 then
      redis.call('ZREM', KEYS[1], claim)
    end
  end
  reply[#reply + 1] = result
end
return reply
