-- Frees idempotency keys that still belong to the submissions with these numbers.
-- KEYS idempotency. ARGV for each submission: its key and its number.
for at = 1, #ARGV, 2 do
  local record = redis.call('HGET', KEYS[1], ARGV[at])
  if record and numberOf(record) == tonumber(ARGV[at + 1]) then
    redis.call('HDEL', KEYS[1], ARGV[at])
  end
end
return 0
