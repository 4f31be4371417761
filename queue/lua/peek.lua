-- peek.lua: reads a window of a key. It changes nothing.
--
-- KEYS[1]  key  ZSET or LIST of texts
-- ARGV[1]  'ZSET' = from the lowest score on; 'HEAD' or 'TAIL' = from that end of a list on
-- ARGV[2]  texts between that end and the window
-- ARGV[3]  texts to read at most
-- ARGV[4]  bytes of texts after which no more are read
--
-- Returns {now, total, text, ...}: now by TIME, us; total = how many the key holds. Behind each text of a
-- ZSET stands its score. The first text is the one that is nearest to the end.

local t = redis.call('TIME') -- seconds, microseconds
local first, most, limit = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local step = ARGV[1] == 'ZSET' and 2 or 1
local reply = {string.format('%d%06d', t[1], t[2])}
reply[2] = step == 2 and redis.call('ZCARD', KEYS[1]) or redis.call('LLEN', KEYS[1])

local function read(from, n)
  if step == 2 then return redis.call('ZRANGE', KEYS[1], from, from + n - 1, 'WITHSCORES') end
  if ARGV[1] == 'HEAD' then return redis.call('LRANGE', KEYS[1], from, from + n - 1) end
  local texts, turned = redis.call('LRANGE', KEYS[1], -from - n, -from - 1), {}
  for i = #texts, 1, -1 do turned[#turned + 1] = texts[i] end
  return turned
end

local n, bytes, want = 0, 0, 2
repeat -- two, then at most as many again as were read, so that large ones behind small ones do not fill Redis's memory
  local asked = math.min(want, most - n)
  local some = asked > 0 and read(first + n, asked) or {}
  for i = 1, #some, step do
    n, bytes = n + 1, bytes + #some[i]
    reply[#reply + 1] = some[i]
    if step == 2 then reply[#reply + 1] = some[i + 1] end
    if bytes >= limit then break end
  end
  want = math.min(n, 64, math.ceil((limit - bytes) * n / math.max(bytes, 1))) -- deep in a list each piece is a walk
until #some < asked * step or n >= most or bytes >= limit
return reply
