-- paused.lua: reads which topics are paused. Changes nothing.
--
-- KEYS[1]  paused  HASH  topic -> a pause as JSON
-- ARGV[1]  fields that are read at most
--
-- Returns {now, fields, topic, pause, ...}: now by TIME, us; where there are more fields than are read,
-- none of them follows.

local t = redis.call('TIME') -- seconds, microseconds
local reply = {string.format('%d%06d', t[1], t[2]), redis.call('HLEN', KEYS[1])}
if reply[2] <= tonumber(ARGV[1]) then
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all do reply[2 + i] = all[i] end
end
return reply
