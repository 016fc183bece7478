-- Withdraws an admission, once, however many workers sweep at the same time. Its idempotency key no longer counts as accepted.
-- KEYS outstanding exists ledger purges withdrawn. ARGV submission number seconds.
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[5], '', 'EX', ARGV[3])
redis.call('HINCRBY', KEYS[3], 'accepted', -1)
redis.call('ZREM', KEYS[4], ARGV[1])
forgetNewIds(KEYS[2], ARGV[2])
return 1
