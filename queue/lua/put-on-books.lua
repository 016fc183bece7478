-- Writes what admit.lua writes about one submission. What also a later queued submission made exist stays with the later one.
-- KEYS outstanding exists purges, then said keys. ARGV number submission isPurge #exists (id value)… said value….
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] == '1' then redis.call('ZADD', KEYS[3], ARGV[1], ARGV[2]) end
local n = tonumber(ARGV[4])
for i = 1, n do redis.call('HSETNX', KEYS[2], ARGV[3 + 2 * i], ARGV[4 + 2 * i]) end
for i = 4, #KEYS do redis.call('HSET', KEYS[i], ARGV[1], ARGV[1 + 2 * n + i]) end
return 0
