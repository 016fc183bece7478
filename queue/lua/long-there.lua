-- For each key, a sorted set of times: members that have been in it for so long, by the clock of this Redis: those of processes may be
-- others. What lies a second ahead was put there before the clock went back, or by a process whose clock is ahead, and counts as old.
-- KEYS times…. ARGV how old, units of the times in a second, how many at most of each key.
local time = redis.call('TIME')
local second = tonumber(ARGV[2])
local now = time[1] * second + math.floor(time[2] * second / 1000000)
local old, ahead = string.format('%.0f', now - ARGV[1]), string.format('%.0f', now + second)
local most = tonumber(ARGV[3])
local function between(key, from, to, count)
  return redis.call('ZRANGEBYSCORE', key, from, to, 'LIMIT', 0, count)
end
local answers = {}
for i, key in ipairs(KEYS) do
  local found = between(key, '-inf', old, most)
  if #found < most then
    for _, member in ipairs(between(key, ahead, '+inf', most - #found)) do found[#found + 1] = member end
  end
  answers[i] = found
end
return answers
