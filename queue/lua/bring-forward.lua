-- Moves jobs to the front. KEYS the list of waiting jobs, from whose end workers take. ARGV jobs, first ones first.
local moved = 0
for i = #ARGV, 1, -1 do
  if redis.call('LREM', KEYS[1], -1, ARGV[i]) == 1 then
    redis.call('RPUSH', KEYS[1], ARGV[i])
    moved = moved + 1
  end
end
return moved
