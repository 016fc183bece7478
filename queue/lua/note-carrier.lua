-- Notes which jobs carry batches of one workspace, and takes them out of the outbox and the backlog. A batch that is off the books by then is left out.
-- KEYS outbox outstanding removing carriers backlog. ARGV a batch and its job, for each.
for at = 1, #ARGV, 2 do
  local batch, job = ARGV[at], ARGV[at + 1]
  redis.call('ZREM', KEYS[1], batch)
  redis.call('ZREM', KEYS[5], batch)
  if redis.call('ZSCORE', KEYS[2], batch) or redis.call('ZSCORE', KEYS[3], batch) then
    redis.call('HSET', KEYS[4], batch, job)
  end
end
return 0
