-- Withdraws an admission, once, however many workers sweep at the same time. Its idempotency key no longer counts as accepted.
-- KEYS outstanding exists ledger purges withdrawn. ARGV submission number seconds.
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[5], '', 'EX', ARGV[3])
redis.call('HINCRBY', KEYS[3], 'accepted', -1)
redis.call('ZREM', KEYS[4], ARGV[1])
local fields = redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
  if string.match(fields[i + 1], '^%d+') == ARGV[2] then redis.call('HDEL', KEYS[2], fields[i]) end
end
return 1
