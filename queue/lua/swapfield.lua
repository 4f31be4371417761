-- swapfield.lua: changes one field of a hash that sidecars share, if nobody else has changed it.
--
-- KEYS[1]  shared  HASH  what the sidecars tell each other; no job is in it
-- ARGV[1]  the field
-- ARGV[2]  its value as it was read; '' = it was absent
-- ARGV[3]  its new value; '' deletes it
-- ARGV[4]  fields that the hash may have: none is added to as many
--
-- Returns 1 when it was changed, 0 when its value was another one, -1 when the hash is full. At maxmemory a removal
-- that removes nothing comes first, and lets the rest through: alarms are told then of all times.

local have = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if have ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
elseif have == '' and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  return -1
else
  local reply = redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[3])
  if type(reply) == 'table' and reply.err then
    if not string.find(reply.err, 'OOM', 1, true) then return reply end
    redis.call('HDEL', KEYS[1], '')
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  end
end
return 1
