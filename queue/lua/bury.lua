-- bury.lua: running -> dead. Swaps texts for their dead records, each only under its own lease.
--
-- KEYS[1]    running  ZSET    texts; score = lease, the deadline in ms
-- KEYS[2]    dead     LIST    dead records
-- KEYS[3]    pool     ZSET    texts; score = due time in the topic's unit
-- KEYS[4..]  marks    STRING  idempotency marks of the jobs that have one
-- ARGV[1]    what a mark says of a job that is done: all others are deleted
-- ARGV[2..]  per job six: text; the lease it is held under; the lease a renewal may have set, or '';
--            the dead record; index of its mark in KEYS, or 0; 1 = the claim was read by expired, else 0
--
-- Returns per job a number: 1 = swapped, 2 = the entry was gone and the text is with others or its
-- record in dead, 3 = somebody else holds it, nothing changed, 4 = gone, expired: skipped, 5 = gone
-- within its lease, its record added; or the error with which Redis refused the record, nothing
-- changed then.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: meet every refusal first

-- What becomes of a job whose running entry is gone (DESIGN 4); 6 = swap it where it lies in the pool.
-- ends is what was confirmed: a renewal under way may have found the entry gone already. An error is of this job
-- alone: those before it are through, and their results must be told.
local function gone(text, ends, record, expired)
  if expired == '1' then return 4 end
  local last = redis.pcall('LRANGE', KEYS[2], -100, -1)
  for _, found in ipairs(last) do
    if found == record then return 2 end -- an earlier try came through and only its reply was lost
  end
  local pooled = not last.err and redis.pcall('ZSCORE', KEYS[3], text)
  if last.err or type(pooled) == 'table' then return nil, last.err or pooled.err end
  return pooled and 6 or ends > now and 5 or 2 -- after its lease it is with whoever took it
end

local reply = {}
for i = 2, #ARGV, 6 do
  local text, held, next, record = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]
  local mark, score = tonumber(ARGV[i + 4]), tonumber(redis.call('ZSCORE', KEYS[1], text))
  local result, err = 1, nil
  if not score then
    result, err = gone(text, held or 0, record, ARGV[i + 5])
  elseif score ~= held and score ~= next then
    result = 3
  end
  local added = (result == 1 or result and result > 4) and redis.pcall('RPUSH', KEYS[2], record)
  err = type(added) == 'table' and added.err or err
  if err then
    result, mark = err, 0
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
