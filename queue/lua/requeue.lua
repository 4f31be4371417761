-- requeue.lua: running -> pool, or the head of ready. Swaps texts for those that are to run later.
--
-- KEYS[1]    running  ZSET    texts; score = lease, the deadline in ms
-- KEYS[2]    pool     ZSET    texts; score = due time in the topic's unit
-- KEYS[3]    ready    LIST    texts
-- KEYS[4..]  marks    STRING  idempotency marks of the jobs that have one
-- ARGV[1]    what a mark says of a job that is done: all others are deleted
-- ARGV[2]    milliseconds in one unit of the pool's scores: 1 or 1000
-- ARGV[3..]  per job eight: text; the lease it is held under; the lease a renewal may have set, or '';
--            the new text; its delay, ms; 1 = to the head of ready, else 0; index of its mark in KEYS,
--            or 0; 1 = the claim was read by expired, else 0
--
-- Returns per job, LAST JOB FIRST so that texts for ready keep their order, a number: 1 = swapped,
-- 2 = the entry was gone and the text is with others, 3 = somebody else holds it, nothing changed,
-- 4 = gone, expired: skipped, 5 = gone within its lease, added anew; or the error with which Redis
-- refused the new text, nothing changed then.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: meet every refusal first

local function add(text, delay, head)
  if head == '1' then return redis.pcall('LPUSH', KEYS[3], text) end
  return redis.pcall('ZADD', KEYS[2], (now + delay) / ARGV[2], text)
end

-- What becomes of a job whose running entry is gone (DESIGN 4); 6 = swap it where it lies in the pool.
-- ends is what was confirmed: a renewal under way may have found the entry gone already. An error is of this job
-- alone: those before it are through, and their results must be told.
local function gone(text, ends, new, expired)
  if expired == '1' then return 4 end
  local there = redis.pcall('ZSCORE', KEYS[2], new)
  if type(there) == 'table' then return nil, there.err end
  -- Of ready only its head, and only where the server can look (from 6.0.6 on).
  local near = redis.pcall('LPOS', KEYS[3], new, 'MAXLEN', 1000)
  if there or redis.call('ZSCORE', KEYS[1], new) or type(near) == 'number' then
    return 2 -- an earlier try came through and only its reply was lost
  end
  if redis.call('ZSCORE', KEYS[2], text) then return 6 end
  return ends > now and 5 or 2 -- after its lease it is with whoever took it
end

local reply = {}
for i = #ARGV - 7, 3, -8 do
  local text, held, next, new = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]
  local mark, score = tonumber(ARGV[i + 6]), tonumber(redis.call('ZSCORE', KEYS[1], text))
  local result, err = 1, nil
  if not score then
    result, err = gone(text, held or 0, new, ARGV[i + 7])
  elseif score ~= held and score ~= next then
    result = 3
  end
  local added = (result == 1 or result and result > 4) and add(new, ARGV[i + 4], ARGV[i + 5])
  err = type(added) == 'table' and added.err or err
  if err then
    result, mark = err, 0
  elseif result == 1 then
    redis.call('ZREM', KEYS[1], text)
  elseif result == 6 then
    redis.call('ZREM', KEYS[2], text)
    result = 2
  end
  if mark > 0 and result ~= 3 and result ~= 4 and redis.pcall('GET', KEYS[mark]) ~= ARGV[1] then
    redis.call('DEL', KEYS[mark]) -- or an old worker would take our retry for a job done earlier
  end
  reply[#reply + 1] = result
end
return reply
