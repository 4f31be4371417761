-- restore.lua: pool, ready, or nowhere -> dead. Undoes takedead, once for each ticket.
--
-- KEYS[1]  dead     LIST  dead records, in profile list texts
-- KEYS[2]  moved    ZSET  tickets, as in takedead
-- KEYS[3]  from     ZSET  the pool, or LIST: where the text waits that was replayed; dead for one that was dropped
-- KEYS[4]  reasons  LIST  why texts are in dead; absent in profile delay
-- ARGV[1]  ticket
-- ARGV[2]  the record
-- ARGV[3]  1 = it was taken, whether or not the ticket is still kept; else 0
-- ARGV[4]  'pool' or 'list' = what from is, 'drop' = the record was dropped
-- ARGV[5]  the text that waits
-- ARGV[6]  its index in the list
-- ARGV[7]  'RIGHT' = the end of dead and of the list where the newest lie, or 'LEFT'
-- ARGV[8]  how far from an end a text is taken out by its value
-- ARGV[9]  tickets to keep at most
-- ARGV[10]  the reason, '' when there is none
-- ARGV[11]  reasons to keep at most
--
-- Returns 1 = back in dead, as the newest; 2 = it was put back before; 3 = the ticket has taken nothing, as far as is
-- known; 4 = the text does not wait there. But for 1 nothing changed.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local ticket, text, at, right = ARGV[1], ARGV[5], tonumber(ARGV[6]), ARGV[7] == 'RIGHT'
if redis.call('ZSCORE', KEYS[2], 'u' .. ticket) then return 2 end
if ARGV[3] == '0' and not redis.call('ZSCORE', KEYS[2], 't' .. ticket) then return 3 end
if ARGV[4] == 'pool' and not redis.call('ZSCORE', KEYS[3], text) then return 4 end
if ARGV[4] == 'list' and redis.call('LINDEX', KEYS[3], at) ~= text then return 4 end

-- As in takedead: meet every refusal first.
redis.call('LTRIM', KEYS[1], 0, -1)
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -ARGV[9])
local last = ARGV[4] == 'list' and redis.call('LLEN', KEYS[3]) - 1 or 0
local deep = ARGV[4] == 'list' and math.min(at, last - at) > tonumber(ARGV[8])
local try = deep and redis.pcall('LSET', KEYS[3], at, text) or redis.pcall('LREM', KEYS[2], 1, '')
if type(try) == 'table' and try.err and not try.err:find('WRONGTYPE') then return try end

if right then redis.call('RPUSH', KEYS[1], ARGV[2]) else redis.call('LPUSH', KEYS[1], ARGV[2]) end
redis.call('ZADD', KEYS[2], t[1] * 1000 + t[2] / 1000, 'u' .. ticket)
redis.call('ZREM', KEYS[2], 't' .. ticket)
if ARGV[10] ~= '' then
  redis.pcall('LPUSH', KEYS[4], ARGV[10])
  redis.pcall('LTRIM', KEYS[4], 0, ARGV[11] - 1)
end
if ARGV[4] == 'pool' then
  redis.call('ZREM', KEYS[3], text)
elseif deep then -- the newest comes in its place
  redis.call('LSET', KEYS[3], at, redis.call('LINDEX', KEYS[3], right and -1 or 0))
  redis.call('LTRIM', KEYS[3], right and 0 or 1, right and -2 or -1)
elseif ARGV[4] == 'list' then
  redis.call('LREM', KEYS[3], at <= last - at and 1 or -1, text)
end
return 1
