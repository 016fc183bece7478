-- Takes settled submissions' idempotency keys out of the book, the oldest first: those that are too old, and as many as are too many.
-- KEYS idempotency settledKeys ledger. ARGV how many may stay, the number up to which they are too old, how many keys to look at.
-- Returns 1 if there may be more to take out.
local call = redis.call
local left, looked = call('HLEN', KEYS[1]), 0
while looked < tonumber(ARGV[3]) do
  local entry = call('LINDEX', KEYS[2], 0)
  if not entry then return 0 end
  local highest = string.match(entry, '^%d+')
  if left <= tonumber(ARGV[1]) and tonumber(highest) > tonumber(ARGV[2]) then return 0 end
  call('LPOP', KEYS[2])
  for key in string.gmatch(entry, ' (%S+)') do
    looked = looked + 1
    -- A key that was freed may lead to a later submission.
    local record = call('HGET', KEYS[1], key)
    if record and select(3, readRecord(record)) <= tonumber(highest) then
      call('HDEL', KEYS[1], key)
      left = left - 1
    end
  end
  local forgotten = tonumber(call('HGET', KEYS[3], 'forgotten') or '0')
  if tonumber(highest) > forgotten then call('HSET', KEYS[3], 'forgotten', highest) end
end
return 1
