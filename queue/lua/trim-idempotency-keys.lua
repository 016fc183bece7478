-- Removes the oldest keys of applied submissions from the book: expired keys, and keys beyond the
-- bound. Postgres has the keys of applied submissions.
-- KEYS idempotency keyOrder state.
-- ARGV 1: how many keys may stay; 2: the number up to which keys are expired; 3: how many keys to
-- look at. Returns 1 if there may be more to remove, else 0.
local call = redis.call
local left, looked = call('HLEN', KEYS[1]), 0
local applied = tonumber(call('HGET', KEYS[3], 'applied') or '0')
while looked < tonumber(ARGV[3]) do
  local names = call('LINDEX', KEYS[2], 0)
  if not names then return 0 end
  local highest = tonumber(string.match(names, '^%d+'))
  if highest > applied then return 0 end
  if left <= tonumber(ARGV[1]) and highest > tonumber(ARGV[2]) then return 0 end
  call('LPOP', KEYS[2])
  for name in string.gmatch(names, ' (%S+)') do
    looked = looked + 1
    -- A key that was freed can belong to a later submission.
    local record = call('HGET', KEYS[1], name)
    if record and numberOf(record) <= highest then
      call('HDEL', KEYS[1], name)
      left = left - 1
    end
  end
  local forgotten = tonumber(call('HGET', KEYS[3], 'forgotten') or '0')
  if highest > forgotten then call('HSET', KEYS[3], 'forgotten', string.format('%.0f', highest)) end
end
return 1
