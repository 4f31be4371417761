-- burylist.lua: running -> dead. Ends jobs that do not run again: dead gets their texts as they were popped.
--
-- KEYS[1]     running  ZSET  claims; score = lease, the deadline in ms
-- KEYS[2]     dead     LIST  texts, the newest first
-- KEYS[3]     reasons  LIST  why they are in dead, the newest first
-- ARGV[1]     reasons to keep at most
-- ARGV[2..]   per job five: claim; the lease it is held under; the lease a renewal may have set, or '';
--             the reason; 1 = skip it when its entry is gone, else 0
--
-- Returns per job a number: 1 = buried, 2 = the entry was gone after its lease: it is with whoever took it;
-- 3 = somebody else holds it, nothing changed, 4 = gone: skipped, 5 = gone within its lease, added to
-- dead; or the error with which Redis refused the text, nothing changed then. A reason that is refused
-- is no reason to keep the job.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: meet every refusal first
local reply = {}
for i = 2, #ARGV, 5 do
  local claim, held, next = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local score, result = tonumber(redis.call('ZSCORE', KEYS[1], claim)), 1
  if not score then
    result = ARGV[i + 4] == '1' and 4 or (held or 0) > now and 5 or 2
  elseif score ~= held and score ~= next then
    result = 3
  end
  if result == 1 or result == 5 then
    local added = redis.pcall('LPUSH', KEYS[2], (claim:gsub('^%d+%-[^\n]*\n', '', 1)))
    if type(added) == 'table' then
      result = added.err
    else
      redis.call('ZREM', KEYS[1], claim)
      redis.pcall('LPUSH', KEYS[3], ARGV[i + 3])
    end
  end
  reply[#reply + 1] = result
end
redis.pcall('LTRIM', KEYS[3], 0, ARGV[1] - 1)
return reply
