-- takeacks.lua: says of jobs that someone is on them, unless somebody else is, or they are done.
--
-- KEYS[1..]   acks  STRING  who is on the job: 'done', or whoever is
-- ARGV[1]     how long that is believed of somebody else, ms
-- ARGV[2]     how long an ack is kept, s: its age is what is missing from that
-- ARGV[3]     what an ack says of a job that is done
-- ARGV[4..]   per key what the ack of its claim says
--
-- Returns one number a key: 0 = it is the caller's, -1 = the job is done, n = somebody else is on it,
-- look again in n ms.

if redis.replicate_commands then redis.replicate_commands() end
local reply, keep = {}, ARGV[2] * 1000
for i = 1, #KEYS do
  local found = redis.pcall('GET', KEYS[i])
  local odd = type(found) == 'table' -- of another type: somebody's all the same
  if odd and not found.err:find('WRONGTYPE') then return found end
  if found == ARGV[3] then
    reply[i] = -1
  else
    local age = found and keep - redis.call('PTTL', KEYS[i]) or keep
    if age < 0 or age > keep then -- kept for ever, or for longer than the old worker does: from now on it gets old
      redis.call('EXPIRE', KEYS[i], ARGV[2])
      age = 0
    end
    if not found or found == ARGV[i + 3] or age >= tonumber(ARGV[1]) then
      redis.call('SET', KEYS[i], ARGV[i + 3], 'EX', ARGV[2])
      reply[i] = 0
    else
      reply[i] = ARGV[1] - age
    end
  end
end
return reply
