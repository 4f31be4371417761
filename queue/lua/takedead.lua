-- takedead.lua: dead -> pool, a list, or gone. Takes the record that lies at a known place, once for each ticket.
--
-- KEYS[1]  dead    LIST    dead records, in profile list texts
-- KEYS[2]  moved   ZSET    tickets: 't' and the ticket of what was taken, 'u' and of what came back; score = when, ms
-- KEYS[3]  target  ZSET    the pool; in profile list LIST, a shard. Absent: the record is dropped
-- KEYS[4]  mark    STRING  the job's idempotency mark; absent when it has none
-- ARGV[1]  ticket
-- ARGV[2]  the record as it was read
-- ARGV[3]  where it was, from the head on; below 0: from the tail on
-- ARGV[4]  the same from the other end on
-- ARGV[5]  'LEFT' = the end of dead where the oldest lie, or 'RIGHT'
-- ARGV[6]  how far from an end a record is taken out by its value
-- ARGV[7]  tickets to keep at most
-- ARGV[8]  the text to run, '' for none
-- ARGV[9]  milliseconds in one unit of the pool's scores: 1 or 1000; 0 = the target is a list
-- ARGV[10]  what a mark says of a job that is done: all others are deleted
--
-- Returns 1 = taken, 2 = this ticket has taken it before, 3 = the pool holds an equal text, with which it
-- would become one; 0 = it is at neither place. But for 1 nothing changed.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now, ticket, record, at = t[1] * 1000 + t[2] / 1000, ARGV[1], ARGV[2], nil
if redis.call('ZSCORE', KEYS[2], 't' .. ticket) or redis.call('ZSCORE', KEYS[2], 'u' .. ticket) then return 2 end
local last = redis.call('LLEN', KEYS[1]) - 1
for _, i in ipairs({ARGV[3], ARGV[4]}) do
  if not at and redis.call('LINDEX', KEYS[1], i) == record then at = i % (last + 1) end
end
if not at then return 0 end
local isPool = #KEYS > 2 and ARGV[9] ~= '0'
if isPool and redis.call('ZSCORE', KEYS[3], ARGV[8]) then return 3 end

-- Meet every refusal first, as in promote: what removes a record below is tried where it changes nothing.
local deep = math.min(at, last - at) > tonumber(ARGV[6])
redis.call('LTRIM', KEYS[1], 0, -1)
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -ARGV[7])
local try = deep and redis.pcall('LSET', KEYS[1], at, record) or redis.pcall('LREM', KEYS[2], 1, '')
if type(try) == 'table' and try.err and not try.err:find('WRONGTYPE') then return try end

if isPool then
  redis.call('ZADD', KEYS[3], now / ARGV[9], ARGV[8])
elseif #KEYS > 2 then
  redis.call('LPUSH', KEYS[3], ARGV[8])
end
redis.call('ZADD', KEYS[2], now, 't' .. ticket)
if not deep then
  redis.call('LREM', KEYS[1], at <= last - at and 1 or -1, record)
else -- far from both ends removing takes long: the oldest comes in its place (docs/decisions/0021)
  local left = ARGV[5] == 'LEFT'
  redis.call('LSET', KEYS[1], at, redis.call('LINDEX', KEYS[1], left and 0 or -1))
  redis.call('LTRIM', KEYS[1], left and 1 or 0, left and -1 or -2)
end
if #KEYS == 4 and redis.pcall('GET', KEYS[4]) ~= ARGV[10] then redis.call('DEL', KEYS[4]) end
return 1
