-- pushlist.lua: -> list. Adds a text as a producer does.
--
-- KEYS[1]  list  LIST  texts
-- ARGV[1]  the text
--
-- Returns the length of the list.

return redis.call('LPUSH', KEYS[1], ARGV[1])
