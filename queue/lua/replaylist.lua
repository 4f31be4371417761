-- replaylist.lua: dead -> list. Swaps a dead letter for the text it was edited to.
--
-- KEYS[1]  dead  LIST  texts, the newest first
-- KEYS[2]  list  LIST  texts
-- ARGV[1]  the dead letter as it was read; of several equal ones the oldest goes
-- ARGV[2]  the text to run
--
-- Returns 1, or 0 when dead does not hold the letter any more: nothing changed; or the error with which
-- Redis refused the new text: the letter is back in dead then, as its oldest.

if redis.call('LREM', KEYS[1], -1, ARGV[1]) == 0 then return 0 end
local added = redis.pcall('LPUSH', KEYS[2], ARGV[2])
if type(added) == 'table' then
  redis.call('RPUSH', KEYS[1], ARGV[1])
  return added.err
end
return 1
