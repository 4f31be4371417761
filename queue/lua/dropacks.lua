-- dropacks.lua: takes back that someone is on jobs. What another claim, or the old worker, says stays.
--
-- KEYS[1..]   acks  STRING  who is on the job
-- ARGV[1..]   per key what the ack of its claim says
--
-- Returns how many there were.

local n = 0
for i = 1, #KEYS do
  if redis.pcall('GET', KEYS[i]) == ARGV[i] then n = n + redis.call('DEL', KEYS[i]) end
end
return n
