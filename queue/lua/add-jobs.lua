-- Queues jobs. A job that is there already is left as it is.
-- KEYS wait meta marker. ARGV prefix now options, then id, name and data of each job.
local added = {}
for at = 4, #ARGV, 3 do
  local key = ARGV[1] .. ARGV[at]
  if redis.call('EXISTS', key) == 0 then
    redis.call('HSET', key, 'name', ARGV[at + 1], 'data', ARGV[at + 2], 'opts', ARGV[3], 'timestamp', ARGV[2])
    added[#added + 1] = ARGV[at]
  end
end
if #added > 0 then pushJobs(KEYS[1], KEYS[2], KEYS[3], added) end
return #added
