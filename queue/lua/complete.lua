-- complete.lua: running -> gone. Ends jobs that are done, each only under its own lease.
--
-- KEYS[1]    running  ZSET    texts; score = lease, the deadline in ms
-- KEYS[2..]  marks    STRING  idempotency marks of the jobs that have one
-- ARGV[1]    what a mark says of a job that is done
-- ARGV[2]    how long a mark is kept, s
-- ARGV[3..]  per job four: text; the lease it is held under; the lease a renewal may have set, or '';
--            index of its mark in KEYS, or 0
--
-- Returns one number a job: 1 = removed, 2 = the entry was gone already, 3 = somebody else holds it,
-- and nothing was removed. The mark is set in every case: the job is done, whoever holds the text.

if redis.replicate_commands then redis.replicate_commands() end
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: or SET is refused at maxmemory
local reply = {}
for i = 3, #ARGV, 4 do
  local text, held, next, mark = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  if mark > 0 then redis.call('SET', KEYS[mark], ARGV[1], 'EX', ARGV[2]) end
  local score = tonumber(redis.call('ZSCORE', KEYS[1], text))
  if not score then
    reply[#reply + 1] = 2
  elseif score == held or score == next then
    redis.call('ZREM', KEYS[1], text)
    reply[#reply + 1] = 1
  else
    reply[#reply + 1] = 3
  end
end
return reply
