-- spool.lua: -> pool, or a list. Adds jobs that PHP stored in a table while Redis was away, each row once.
--
-- KEYS[1]    target  ZSET    a pool: texts; score = due time in the pool's unit. Or a LIST of texts
-- KEYS[2]    marks   STRING  "<reading> <id>:<ticket> <id>:<ticket> ...": the last reading of the table that
--                            was here, and the rows that are in the target and may still be in the table
-- ARGV[1]    number of this reading; numbers rise in the order of what the readings saw
-- ARGV[2]    id of a row behind which it began
-- ARGV[3]    id of the row with which it ended; '' = behind it there was none
-- ARGV[4]    milliseconds in one unit of the pool's scores: 1 or 1000; 0 = the target is a list
-- ARGV[5..]  per row four: id, ticket, due time in ms, text; in the order of their ids
--
-- Returns {reading, error, result, result, ...}. A reading above ours: a later one was here, and nothing changed.
-- Else per row: 1 = added, 2 = it was there already, 0 = not there, for the error with which Redis refused it or
-- a row before it.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
local now = t[1] * 1000 + t[2] / 1000
local state = redis.call('GET', KEYS[2]) or '0'
local reading, last = tonumber(ARGV[1]), tonumber(state:match('^%d+')) or 0
if last > reading then return {last, ''} end
-- A mark that is refused after its job was added would add the job again and again. What can be added to a key
-- once can be added again in the same step: so meet every refusal first.
redis.call('SET', KEYS[2], state)

-- A row of this stretch that the reading did not see is deleted, and no later reading will see it: its mark can go.
local from, to = tonumber(ARGV[2]), tonumber(ARGV[3]) or math.huge
local marked, kept = {}, {ARGV[1]}
for id, ticket in state:gmatch('(%d+):(%x+)') do
  marked[ticket] = true
  if tonumber(id) <= from or tonumber(id) > to then kept[#kept + 1] = id .. ':' .. ticket end
end

local reply = {reading, ''}
for i = 5, #ARGV, 4 do
  local result = marked[ARGV[i + 1]] and 2 or 0
  if result == 0 and reply[2] == '' then
    local added
    if ARGV[4] == '0' then
      added = redis.pcall('LPUSH', KEYS[1], ARGV[i + 3])
    else -- those that are overdue keep their order: a microsecond lies between two
      local due = math.max(tonumber(ARGV[i + 2]), now + i / 4000)
      added = redis.pcall('ZADD', KEYS[1], due / ARGV[4], ARGV[i + 3])
    end
    if type(added) == 'table' then reply[2] = added.err else result = 1 end
  end
  if result > 0 then kept[#kept + 1] = ARGV[i] .. ':' .. ARGV[i + 1] end
  reply[#reply + 1] = result
end
redis.call('SET', KEYS[2], table.concat(kept, ' '))
return reply
