-- Admits submissions of one workspace that arrive together, in one atomic step on Redis's clock. It
-- judges the requests in order, each by its idempotency key, then the rate limit, then the size of
-- the log. All admitted submissions become one entry of the log. The submission at place p has the
-- number of the first place plus p - 1.
--
-- The state of a key is `former` if the book has its record. Else it is `unused`. But if the book has
-- lost recent keys (`forgotten`), it is the `keyState` of the request: `unknown`, or `unused` after a
-- look-up in Postgres. A request whose key is unknown is only judged, as if its key were unused.
--
-- KEYS state never (a key that never exists; keys.ts says why)
-- ARGV 1: how the keys begin; 2: floor; 3: seconds of idempotency; 4: ID_BASE of the entry
--      (log-entry.ts); 5: waiting bytes beyond which the log is full; 6: how many of the
--      submissions were in the log before; 7: the requests as JSON (`scriptArgument` in
--      call-admit.ts); then the item of each request.
-- Returns for each request `key outcome remaining reset`, with reset in microseconds. For a former
-- key, the record stands in the place of the outcome. The last text is
-- `first empty identify purge deep wake purged`: the number of the first place, then 1 or 0 each. `wake`
-- tells whether a worker has to be woken, and `purged` whether the workspace had removals.
local begin, floor, recordSeconds = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local requests = cjson.decode(ARGV[7])
local call, format = redis.call, string.format
local stateKey, book = begin .. 'state', begin .. 'idempotency'
local state, now = readState(begin), nowMicroseconds()
floor = math.max(floor, state.applied)
if floor > state.number then
  -- Redis has lost numbers, and idempotency keys with them.
  state.forgotten = floor
  call('HSET', stateKey, 'forgotten', whole(floor))
end
local first = math.max(now, floor + 1, state.number + 1)
local isEmpty = state.applied >= state.number
local isPurgeWaiting, isIdentifyWaiting = waitsForPurge(state), waitsForIdentify(state)
local isFull = state.bytes - state.doneBytes > tonumber(ARGV[5])
local oldestRecord = now - recordSeconds * 1000000

local buckets = {}
local function bucketOf(request)
  if not request.tokens then return end
  local bucket = buckets[request.operation]
  if bucket then return bucket end
  local name, window = begin .. 'bucket:' .. request.operation, request.windowMs * 1000
  -- A time ahead of the clock is from before the clock went back. Its token would come back late.
  local newest = call('LINDEX', name, 0)
  while newest and newest + 0 > now do
    call('LPOP', name)
    newest = call('LINDEX', name, 0)
  end
  local oldest = newest and call('LINDEX', name, -1)
  while oldest and oldest + window <= now do
    call('RPOP', name)
    oldest = call('LINDEX', name, -1)
  end
  bucket = {name = name, window = window, oldest = oldest, spent = oldest and call('LLEN', name) or 0, new = {}}
  buckets[request.operation] = bucket
  return bucket
end

local function spend(bucket)
  bucket.new[#bucket.new + 1] = whole(now)
  bucket.spent, bucket.oldest = bucket.spent + 1, bucket.oldest or now
end

local function describe(bucket, request)
  if not bucket then return '- -' end
  return format('%d %.0f', request.tokens - bucket.spent, bucket.oldest and bucket.oldest + bucket.window - now or 0)
end

local records, keyHashes, isBookWhole = {}, {}, true
for _, request in ipairs(requests) do
  if request.keyHash then keyHashes[#keyHashes + 1] = request.keyHash end
end
if #keyHashes > 0 then
  for i, record in ipairs(call('HMGET', book, unpack(keyHashes))) do records[keyHashes[i]] = record end
  isBookWhole = (state.forgotten or 0) <= oldestRecord
end
local function keyStateOf(request)
  local record = request.keyHash and records[request.keyHash]
  if record and numberOf(record) > oldestRecord then return 'former', record end
  return isBookWhole and 'unused' or request.keyState or 'unused'
end

-- letters: a letter for each place of the entry, by operation (`LETTERS` in log-entry.ts).
local answers, letters, items, newKeys, newRecords = {}, {}, {}, {}, {}
local oldest, last, identify, isPurge
for i, request in ipairs(requests) do
  local bucket = bucketOf(request)
  local keyState, outcome = keyStateOf(request)
  letters[i] = '-'
  if keyState == 'former' then
    -- This write changes nothing. A WAIT after it also covers the former admission.
    call('HSET', book, request.keyHash, outcome)
  elseif bucket and bucket.spent >= request.tokens then outcome = 'rate-limited'
  elseif isFull then outcome = 'full'
  elseif request.isJudged or keyState == 'unknown' then outcome = 'admissible'
  else
    outcome = 'admitted'
    if bucket then spend(bucket) end
    last = first + i - 1
    oldest = oldest or last
    letters[i], items[#items + 1] = request.letter, ARGV[7 + i]
    -- p and d remove records. i and c are the operations of `IDENTIFYING` in call-admit.ts.
    isPurge = isPurge or request.letter == 'p' or request.letter == 'd'
    if request.letter == 'i' or request.letter == 'c' then identify = last end
    if request.keyHash then
      records[request.keyHash] = request.recordBegin .. format('%x', last)
      newKeys[#newKeys + 1] = request.keyHash
      newRecords[#newRecords + 1] = request.keyHash
      newRecords[#newRecords + 1] = records[request.keyHash]
    end
  end
  answers[i] = keyState .. ' ' .. outcome .. ' ' .. describe(bucket, request)
end

if last then
  local head = {'1', whole(first), table.concat(letters), ARGV[4], whole(state.appended), whole(state.bytes), whole(state.applied)}
  local value = table.concat(head, ' ') .. '\n[' .. table.concat(items, ',') .. ']'
  call('XADD', begin .. 'log', whole(last) .. '-0', 'v', value)
  noteEntries(begin, true)
  state.appended, state.bytes = state.appended + #items, state.bytes + #value
  call('HSET', stateKey, 'number', whole(last), 'appended', state.appended, 'bytes', state.bytes)
  if isEmpty then call('HSET', stateKey, 'oldest', whole(oldest)) end
  if isPurge then call('HSET', stateKey, 'purge', whole(last)) end
  if identify then call('HSET', stateKey, 'identify', whole(identify)) end
  if ARGV[6] ~= '0' then call('HINCRBY', stateKey, 'again', ARGV[6]) end
end
for _, bucket in pairs(buckets) do
  if #bucket.new > 0 then
    call('LPUSH', bucket.name, unpack(bucket.new))
    call('PEXPIRE', bucket.name, bucket.window / 1000)
  end
end
if #newKeys > 0 then
  call('HSET', book, unpack(newRecords))
  call('RPUSH', begin .. 'key-order', whole(last) .. ' ' .. table.concat(newKeys, ' '))
  noteBook(begin)
end
-- The holder of the lease finds new submissions: when it has applied its stride, or else after its
-- pace, for which an identify or a purge does not wait.
local isHeld = isLeased(state, math.floor(now / 1000))
  and (state.took ~= 0 or isDeep(state) or not (identify or isPurge))
answers[#answers + 1] = format('%s %d %d %d %d %d %d', whole(first), isEmpty and 1 or 0, isIdentifyWaiting and 1 or 0,
  isPurgeWaiting and 1 or 0, isDeep(state) and 1 or 0, isHeld and 0 or 1, (isPurge or state.purge) and 1 or 0)
return answers
