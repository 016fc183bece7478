-- Leaves of each job only what body-left.lua says. A job that is gone does not come back.
-- KEYS how the names of the jobs begin, which are all in one slot. ARGV how begins what is left of each job, then number and id of each.
for at = 2, #ARGV, 2 do
  local left = bodyLeft(ARGV[1], ARGV[at], ARGV[at + 1])
  if redis.call('HSET', KEYS[1] .. ARGV[at + 1], 'data', left) == 1 then redis.call('DEL', KEYS[1] .. ARGV[at + 1]) end
end
return 0
