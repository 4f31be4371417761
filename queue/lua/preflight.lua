-- preflight.lua: finds out which commands of the other scripts Redis refuses this user. It changes
-- nothing that could be seen: what it adds it takes away again, in the same step.
--
-- KEYS[1]  pool     ZSET    texts; score = due time in the topic's unit
-- KEYS[2]  ready    LIST    texts
-- KEYS[3]  running  ZSET    texts; score = lease, the deadline in ms
-- KEYS[4]  dead     LIST    dead records
-- KEYS[5]  mark     STRING  an idempotency mark that no job has; absent where marks are not used. In profile
--                           list the reasons, so that Redis is asked for that key, too
-- ARGV[1]  1 = for profile list, else 0
--
-- Returns the names of the refused commands.

if redis.replicate_commands then redis.replicate_commands() end
local refused = {}

-- Each server has its own words for it; other errors, a wrong type say, are met when they matter.
local function try(command, reply)
  local err = type(reply) == 'table' and reply.err or ''
  local denied = err:find('NOPERM') or err:find('ACL failure') or err:find("can't run this command")
  if denied then refused[#refused + 1] = command end
  return not denied
end

try('time', redis.pcall('TIME'))
try('zremrangebyrank', redis.pcall('ZREMRANGEBYRANK', KEYS[1], 1, 0))
try('zadd', redis.pcall('ZADD', KEYS[1], 'NX', 'XX', 0, 'x')) -- a contradiction: adds nothing
try('zrem', redis.pcall('ZREM', KEYS[3], 'sidecar: no text'))
try('zrange', redis.pcall('ZRANGE', KEYS[1], 0, 0))
try('zrangebyscore', redis.pcall('ZRANGEBYSCORE', KEYS[1], '-inf', 0, 'LIMIT', 0, 1))
try('zscore', redis.pcall('ZSCORE', KEYS[3], 'x'))
try('zcard', redis.pcall('ZCARD', KEYS[1]))
try('zremrangebyscore', redis.pcall('ZREMRANGEBYSCORE', KEYS[3], '(1', '(0')) -- a range of nothing
try('zcount', redis.pcall('ZCOUNT', KEYS[1], 0, 0))
try('llen', redis.pcall('LLEN', KEYS[4]))
try('lrange', redis.pcall('LRANGE', KEYS[2], 0, 0))
try('lindex', redis.pcall('LINDEX', KEYS[4], 0))
if try('ltrim', redis.pcall('LTRIM', KEYS[2], 0, -1)) then
  local length = redis.pcall('LPUSH', KEYS[2], 'x')
  if try('lpush', length) and type(length) == 'number' then
    if not try('lpop', redis.pcall('LPOP', KEYS[2])) then redis.call('LTRIM', KEYS[2], 1, -1) end
  end
  length = redis.pcall('RPUSH', KEYS[2], 'x')
  if try('rpush', length) and type(length) == 'number' then redis.call('LTRIM', KEYS[2], 0, -2) end
end
-- On the pool, whose type is another: on dead it would look through all there is for what is not there.
if ARGV[1] == '1' then try('lrem', redis.pcall('LREM', KEYS[1], -1, 'sidecar: no text')) end
if #KEYS == 5 and ARGV[1] == '0' then
  try('get', redis.pcall('GET', KEYS[5]))
  try('mget', redis.pcall('MGET', KEYS[5])) -- not of a script: before a job runs its mark is looked for
  try('set', redis.pcall('SET', KEYS[5], '', 'EX', 1))
  try('del', redis.pcall('DEL', KEYS[5]))
end
return refused
