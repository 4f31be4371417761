-- setaside.lua: head of dead -> tail of dead, for a record that replay cannot read.
--
-- KEYS[1]  dead  LIST  dead records
-- ARGV[1]  the record as it was read
--
-- Returns 1, or 0 when the head of dead is another record by now: nothing changed.

if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
redis.call('LTRIM', KEYS[1], 0, -1) -- as in promote: meet every refusal first
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('LPOP', KEYS[1])
return 1
