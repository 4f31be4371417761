-- untime.lua: pool or ready -> pool. Undoes retime, once for each ticket.
--
-- KEYS[1]  pool   ZSET  texts; score = due time in the topic's unit
-- KEYS[2]  moved  ZSET  tickets, as in takedead
-- KEYS[3]  ready  LIST  texts; absent: the text is looked for in the pool
-- ARGV[1]  ticket
-- ARGV[2]  the text
-- ARGV[3]  1 = it was given a due time, whether or not the ticket is still kept; else 0
-- ARGV[4]  the score that it was given
-- ARGV[5]  the one that it had before, and gets again
-- ARGV[6]  its index in ready, from the head on
-- ARGV[7]  how far from an end a text is taken out by its value
-- ARGV[8]  tickets to keep at most
--
-- Returns 1 = it waits for its old time again; 2 = that was done before; 3 = the ticket has done nothing, as far as is
-- known; 4 = the text is not there, or waits for another time. But for 1 nothing changed.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local ticket, text, at = ARGV[1], ARGV[2], tonumber(ARGV[6])
if redis.call('ZSCORE', KEYS[2], 'u' .. ticket) then return 2 end
if ARGV[3] == '0' and not redis.call('ZSCORE', KEYS[2], 't' .. ticket) then return 3 end
local score = redis.call('ZSCORE', KEYS[1], text)
if #KEYS == 2 and (not score or tonumber(score) ~= tonumber(ARGV[4])) then return 4 end
if #KEYS == 3 and (score or redis.call('LINDEX', KEYS[3], at) ~= text) then return 4 end

-- As in takedead: meet every refusal first.
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0)
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -ARGV[8])
local last = #KEYS == 3 and redis.call('LLEN', KEYS[3]) - 1 or 0
local deep = #KEYS == 3 and math.min(at, last - at) > tonumber(ARGV[7])
local try = #KEYS == 2 or deep and redis.pcall('LSET', KEYS[3], at, text) or redis.pcall('LREM', KEYS[2], 1, '')
if type(try) == 'table' and try.err and not try.err:find('WRONGTYPE') then return try end
if #KEYS == 3 then redis.call('LTRIM', KEYS[3], 0, -1) end

redis.call('ZADD', KEYS[1], ARGV[5], text)
redis.call('ZADD', KEYS[2], t[1] * 1000 + t[2] / 1000, 'u' .. ticket)
redis.call('ZREM', KEYS[2], 't' .. ticket)
if deep then -- the newest comes in its place, as in restore
  redis.call('LSET', KEYS[3], at, redis.call('LINDEX', KEYS[3], -1))
  redis.call('LTRIM', KEYS[3], 0, -2)
elseif #KEYS == 3 then
  redis.call('LREM', KEYS[3], at <= last - at and 1 or -1, text)
end
return 1
