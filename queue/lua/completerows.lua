-- completerows.lua: running -> gone. Ends jobs that are done and told by their leases, without their texts.
--
-- KEYS[1]    running  ZSET  texts; score = lease, the deadline in ms
-- ARGV[1..]  per row of jobs three: its lowest lease; its highest; how many jobs have one of these, or
--            one of those between them
--
-- Returns one number a row: 1 = removed; 0 = running does not hold exactly so many of these leases, and
-- nothing was removed: complete tells what has become of each.

local reply = {}
for i = 1, #ARGV, 3 do
  local all = redis.call('ZCOUNT', KEYS[1], ARGV[i], ARGV[i + 1]) == tonumber(ARGV[i + 2])
  reply[#reply + 1] = all and redis.call('ZREMRANGEBYSCORE', KEYS[1], ARGV[i], ARGV[i + 1]) > 0 and 1 or 0
end
return reply
