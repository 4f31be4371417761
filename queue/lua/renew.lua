-- renew.lua: running -> running. Moves leases on, each only while it is still the caller's.
--
-- KEYS[1]    running  ZSET  texts; score = lease, the deadline in ms
-- ARGV[1..]  per claim three: text; the lease it is held under; the lease it is to get, whole tenths of a second in ms
--
-- Returns one number a claim: 1 = still ours, 0 = lost, which includes an entry that is absent: it is
-- reported and never added again. The new lease counts as ours too, since the reply of an earlier try
-- may have been lost; one that lies behind TIME already is not set.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- as in promote: or ZADD is refused at maxmemory
local reply = {}
for i = 1, #ARGV, 3 do
  local text, held, next = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local score = tonumber(redis.call('ZSCORE', KEYS[1], text))
  if score and score == held and next and next > now then
    redis.call('ZADD', KEYS[1], 'XX', ARGV[i + 2], text)
  end
  reply[#reply + 1] = score and (score == held or score == next) and 1 or 0
end
return reply
