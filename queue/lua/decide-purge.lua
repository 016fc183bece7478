-- Moves a decided purge from what is outstanding to what is being removed, and takes back what it said.
-- KEYS outstanding purges removing facts never. ARGV how the names of facts begin, batch, number, then key and saying of each fact.
if redis.call('ZREM', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[2])
for at = 4, #ARGV, 2 do unsay(KEYS[4], ARGV[1], ARGV[at], ARGV[at + 1], ARGV[3]) end
return 1
