-- Whether the turn is taken with this call: one process gets it in each period. KEYS turn. ARGV
-- periodMs. A key that would last for longer was set before this clock went back.
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left <= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1
