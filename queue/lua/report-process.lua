-- Times are from Redis's clock, since the clocks of several machines differ.
-- KEYS figures seen. ARGV id report keepMs.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ms, ARGV[1])
local function forget(from, to)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], from, to)) do
    redis.call('HDEL', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
  end
end
forget('-inf', ms - ARGV[3])
-- These reports are older than a step back of this clock. A living process reports again.
forget('(' .. ms, '+inf')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 0
