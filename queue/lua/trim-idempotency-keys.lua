-- Removes the oldest keys of applied submissions from the book: expired keys, and keys beyond the
-- bound. Postgres has the keys of applied submissions.
-- KEYS state never (a key that never exists; keys.ts says why).
-- ARGV 1: how the keys of the workspace begin; 2: how many keys may stay; 3: the number up to which
-- keys are expired; 4: how many keys to look at. Returns 1 if there may be more to remove, else 0.
local call = redis.call
local begin, mostKeys, expired, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local stateKey, book, order = begin .. 'state', begin .. 'idempotency', begin .. 'key-order'

local function trim()
  local left, looked = call('HLEN', book), 0
  local applied = tonumber(call('HGET', stateKey, 'applied') or '0')
  while looked < most do
    local names = call('LINDEX', order, 0)
    if not names then return 0 end
    local highest = tonumber(string.match(names, '^%d+'))
    if highest > applied then return 0 end
    if left <= mostKeys and highest > expired then return 0 end
    call('LPOP', order)
    for name in string.gmatch(names, ' (%S+)') do
      looked = looked + 1
      -- A key that was freed can belong to a later submission.
      local record = call('HGET', book, name)
      if record and numberOf(record) <= highest then
        call('HDEL', book, name)
        left = left - 1
      end
    end
    local forgotten = tonumber(call('HGET', stateKey, 'forgotten') or '0')
    if highest > forgotten then call('HSET', stateKey, 'forgotten', whole(highest)) end
  end
  return 1
end

local answer = trim()
noteBook(begin)
return answer
