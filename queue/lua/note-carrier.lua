-- Notes which job carries batches of one workspace, and takes them out of the outbox and the backlog. A batch that is off the books by then is left out.
-- KEYS outbox outstanding removing carriers backlog. ARGV the job, then batches.
for at = 2, #ARGV do
  redis.call('ZREM', KEYS[1], ARGV[at])
  redis.call('ZREM', KEYS[5], ARGV[at])
  if redis.call('ZSCORE', KEYS[2], ARGV[at]) or redis.call('ZSCORE', KEYS[3], ARGV[at]) then
    redis.call('HSET', KEYS[4], ARGV[at], ARGV[1])
  end
end
return 0
