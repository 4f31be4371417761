-- replay.lua: head of dead -> pool, due now. Swaps a dead record for the text it was edited to.
--
-- KEYS[1]  dead  LIST    dead records
-- KEYS[2]  pool  ZSET    texts; score = due time in the topic's unit
-- KEYS[3]  mark  STRING  the job's idempotency mark; absent when it has none
-- ARGV[1]  the record as it was read
-- ARGV[2]  the text to run
-- ARGV[3]  milliseconds in one unit of the pool's scores: 1 or 1000
-- ARGV[4]  what a mark says of a job that is done: all others are deleted
--
-- Returns 1, or 0 when the head of dead is another record by now: nothing changed.

if redis.replicate_commands then redis.replicate_commands() end
local t = redis.call('TIME') -- seconds, microseconds
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
redis.call('LTRIM', KEYS[1], 0, -1) -- as in promote: meet every refusal first
redis.call('ZADD', KEYS[2], (t[1] * 1000 + t[2] / 1000) / ARGV[3], ARGV[2])
redis.call('LPOP', KEYS[1])
if #KEYS == 3 and redis.pcall('GET', KEYS[3]) ~= ARGV[4] then redis.call('DEL', KEYS[3]) end
return 1
