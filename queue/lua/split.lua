-- Makes each submission of a batch a batch of its own. A batch that is gone is left out: it is settled, or was split before.
-- KEYS outstanding outbox carriers batch backlog ledger never. ARGV how the names of batches begin, milliseconds, batch, then name, number and value of each.
local call = redis.call
local bytes = -call('STRLEN', KEYS[4])
if call('UNLINK', KEYS[4]) == 0 then return 0 end
call('ZREM', KEYS[1], ARGV[3])
call('ZREM', KEYS[2], ARGV[3])
call('ZREM', KEYS[5], ARGV[3])
call('HDEL', KEYS[3], ARGV[3])
for at = 4, #ARGV, 3 do
  call('SET', ARGV[1] .. ARGV[at], ARGV[at + 2])
  bytes = bytes + #ARGV[at + 2]
  call('ZADD', KEYS[1], ARGV[at + 1], ARGV[at])
  call('ZADD', KEYS[2], ARGV[2], ARGV[at])
end
call('HINCRBY', KEYS[6], 'bytes', bytes)
return 1
