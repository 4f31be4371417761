-- bury.lua: running -> dead. Swaps texts for their dead records, each only under its own lease.
--
-- KEYS[1]    running  ZSET    texts; score = lease, the deadline in ms
-- KEYS[2]    dead     LIST    dead records
-- KEYS[3]    pool     ZSET    texts; score = due time in the topic's unit
-- KEYS[4]    ready    LIST    texts
-- KEYS[5..]  marks    STRING  idempotency marks of the jobs that have one
-- ARGV[1]    what a mark says of a job that is done: all others are deleted
-- ARGV[2..]  per job six: text; the lease it is held under; the lease a renewal may have set, or '';
--            the dead record; index of its mark in KEYS, or 0; 1 = the claim was read by expired, else 0
--
-- Returns per job a number: 1 = swapped, 2 = the entry was gone and the text or its record lies
-- elsewhere, 3 = somebody else holds it, nothing changed, 4 = gone, expired: skipped, 5 = gone, its
-- record added anyway; or the error with which Redis refused the record, nothing changed then.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: meet every refusal first

-- What becomes of a job whose running entry is gone (DESIGN 4); 6 = swap it where it lies in the pool.
local function gone(text, ends, record)
  for _, found in ipairs(redis.call('LRANGE', KEYS[2], -100, -1)) do
    if found == record then return 2 end -- an earlier try came through and only its reply was lost
  end
  if redis.call('ZSCORE', KEYS[3], text) then return 6 end
  if ends > now then return 5 end
  return type(redis.pcall('LPOS', KEYS[4], text, 'MAXLEN', 1000)) == 'number' and 2 or 5
end

local reply = {}
for i = 2, #ARGV, 6 do
  local text, held, next, record = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]
  local mark, result = tonumber(ARGV[i + 4]), 1
  local score = tonumber(redis.call('ZSCORE', KEYS[1], text))
  if not score then
    result = ARGV[i + 5] == '1' and 4 or gone(text, math.max(held or 0, next or 0), record)
  elseif score ~= held and score ~= next then
    result = 3
  end
  local added = (result == 1 or result > 4) and redis.pcall('RPUSH', KEYS[2], record)
  if type(added) == 'table' then
    result, mark = added.err, 0
  elseif result == 1 then
    redis.call('ZREM', KEYS[1], text)
  elseif result == 6 then
    redis.call('ZREM', KEYS[3], text)
    result = 2
  end
  if mark > 0 and result ~= 3 and result ~= 4 and redis.pcall('GET', KEYS[mark]) ~= ARGV[1] then
    redis.call('DEL', KEYS[mark]) -- or an old worker would take a replayed job for one done earlier
  end
  reply[#reply + 1] = result
end
return reply
