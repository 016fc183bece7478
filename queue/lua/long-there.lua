-- Members of a sorted set of times that have been in it for so long, by the clock of this Redis: those of processes may be others. What
-- lies a second ahead was put there before the clock went back, or by a process whose clock is ahead, and counts as old.
-- KEYS times. ARGV how old, units of the times in a second, how many at most.
local time = redis.call('TIME')
local second = tonumber(ARGV[2])
local now = time[1] * second + math.floor(time[2] * second / 1000000)
local function between(from, to, most)
  return redis.call('ZRANGEBYSCORE', KEYS[1], from, to, 'LIMIT', 0, most)
end
local most = tonumber(ARGV[3])
local found = between('-inf', string.format('%.0f', now - ARGV[1]), most)
if #found < most then
  for _, member in ipairs(between(string.format('%.0f', now + second), '+inf', most - #found)) do found[#found + 1] = member end
end
return found
