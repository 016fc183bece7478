-- Moves a decided purge from what is outstanding to what is being removed, and takes back what it said.
-- KEYS outstanding purges removing, then said keys. ARGV number submission.
if redis.call('ZREM', KEYS[1], ARGV[2]) == 1 then redis.call('ZADD', KEYS[3], ARGV[1], ARGV[2]) end
redis.call('ZREM', KEYS[2], ARGV[2])
for i = 4, #KEYS do redis.call('HDEL', KEYS[i], ARGV[1]) end
return 0
