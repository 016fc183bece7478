-- Takes the turn at a task, once in each period. Returns 1 to the process that gets it. A key with
-- a longer time to live was set before this clock went back.
-- KEYS turn. ARGV periodMs.
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left <= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1
