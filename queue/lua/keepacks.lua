-- keepacks.lua: keeps acks young. What another claim says, or that a job is done, stays as it is.
--
-- KEYS[1..]   acks  STRING  who is on the job
-- ARGV[1]     how long an ack is kept, s
-- ARGV[2..]   per key what the ack of its claim says
--
-- Returns how many there were.

local n = 0
for i = 1, #KEYS do
  if redis.pcall('GET', KEYS[i]) == ARGV[i + 1] then n = n + redis.call('EXPIRE', KEYS[i], ARGV[1]) end
end
return n
