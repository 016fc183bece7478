-- Puts the jobs of these ids behind all that wait, and wakes a worker.
local function pushJobs(wait, meta, marker, ids)
  redis.call('LPUSH', wait, unpack(ids))
  if redis.call('HEXISTS', meta, 'paused') == 0 then redis.call('ZADD', marker, 0, '0') end
end
