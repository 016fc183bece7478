-- Admits submissions of one workspace and one queue that come together, in the order in which they came, each as if it were alone, in
-- one round trip and one atomic step on Redis's own clock. For each submission it decides whether its idempotency key was here before,
-- whether it may enter, which number it gets, and what is queued about the keys that it looks up. Those that enter are one batch: it is
-- kept, put on the books and into the outbox; or into the backlog, when its workspace has much waiting already. After this step nothing has to be undone. keys.ts describes the keys and their values.
--
-- A submission in place p of a call gets the number of the first place plus p - 1, so the numbers of the refused are left out.
-- A missing idempotency key is unknown when it may have left the book; then the caller looks in Postgres, and asks again with `known`:
-- the record that it found, or an empty text.
--
-- KEYS number outstanding exists ledger purges facts outbox idempotency batch backlog
-- ARGV 1 and 2: how the names of further keys begin (bucket, facts). The script completes these names; all keys of a workspace are in
--      one slot. 3 floor, 4 idempotencySeconds, 5 batchId, 6 and 7 the bytes and the submissions beyond which a workspace has a
--      backlog, 8 the bytes beyond which nothing more of it enters, 9 the submissions as JSON (`askedOf` in ask-admission.ts); then for each submission its item in the batch.
-- Returns for each submission `outcome remaining reset number purges submission`, as far as these exist; or a list of that text and then,
-- for each key looked up about which something is queued, its place, its value of exists, and its sayings with their spans. Behind them
-- all: `backlog` when the batch is there; else `lone` when nothing of its workspace was outstanding, or `outbox`.
local ofBucket, ofFacts = ARGV[1], ARGV[2]
local floor, recordSeconds, batch = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local call, format = redis.call, string.format
local asked = cjson.decode(ARGV[9])
local function whole(number) return format('%.0f', number) end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local last = tonumber(call('GET', KEYS[1]) or '0')
local accepted, queued, bytes, forgotten = unpack(call('HMGET', KEYS[4], 'accepted', 'queued', 'bytes', 'forgotten'))
-- Postgres has a higher number than this Redis has given: it has lost what it knew, idempotency keys too.
if floor > last then
  forgotten = whole(floor)
  call('HSET', KEYS[4], 'forgotten', forgotten)
end
local first = math.max(now, floor + 1, last + 1)
local isFull = tonumber(bytes or '0') > tonumber(ARGV[8])
local oldestRecord = now - recordSeconds * 1000000

-- What was spent of the limit of an operation within its window: read once, and written once, however many submissions spend of it.
local buckets = {}
local function bucketOf(one)
  if not one.tokens then return end
  local bucket = buckets[one.operation]
  if bucket then return bucket end
  local name, window = ofBucket .. one.operation, one.windowMs * 1000
  -- What was spent before this clock went back is ahead of it, and would count until the clock is there again.
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
  buckets[one.operation] = bucket
  return bucket
end

local function spend(bucket)
  bucket.new[#bucket.new + 1] = whole(now)
  bucket.spent, bucket.oldest = bucket.spent + 1, bucket.oldest or now
end

local function told(bucket, one)
  if not bucket then return '- -' end
  return format('%d %.0f', one.tokens - bucket.spent, bucket.oldest and bucket.oldest + bucket.window - now or 0)
end

local records, names = {}, {}
for _, one in ipairs(asked) do
  if one.record then names[#names + 1] = one.record end
end
local isBookWhole = true
if #names > 0 then
  for i, record in ipairs(call('HMGET', KEYS[8], unpack(names))) do records[names[i]] = record end
  isBookWhole = tonumber(forgotten or '0') <= oldestRecord
end
local function formerOf(one)
  local record = one.record and (records[one.record] or one.known)
  if not record or record == '' then return end
  local body, submission, number = readRecord(record)
  if number > oldestRecord then return body, submission, format('%.0f', number) end
end

local answers, numbers, formers, isNew = {}, {}, {}, {}
local letters, items, entered, lastEntered = {}, {}, 0, 0
for i, one in ipairs(asked) do
  local bucket = bucketOf(one)
  local formerBody, former, formerNumber = formerOf(one)
  letters[i] = '-'
  if former then
    if formerBody ~= one.body then answers[i] = 'other-body ' .. told(bucket, one)
    else
      answers[i], numbers[i], formers[i] = 'repeated ' .. told(bucket, one), formerNumber, former
      -- Changes nothing, and is written: a WAIT behind it waits for all that was written before, the former admission among it.
      local life = call('PTTL', KEYS[8])
      if life > 0 then call('PEXPIRE', KEYS[8], life) end
    end
  elseif one.record and not isBookWhole and not one.known then answers[i] = 'unknown-key - -'
  elseif one.mode == 'peek' then answers[i] = 'fresh - -'
  elseif bucket and bucket.spent >= one.tokens then answers[i] = 'rate-limited ' .. told(bucket, one)
  elseif isFull or one.mode == 'full' then answers[i] = 'full ' .. told(bucket, one)
  else
    if bucket then spend(bucket) end
    lastEntered = first + i - 1
    answers[i], numbers[i], isNew[i] = 'admitted ' .. told(bucket, one), whole(lastEntered), true
    if one.record then records[one.record] = one.begin .. format('%x', lastEntered) end
    entered = entered + 1
    letters[i], items[entered] = one.letter, ARGV[9 + i]
  end
end

for _, bucket in pairs(buckets) do
  if #bucket.new > 0 then
    call('LPUSH', bucket.name, unpack(bucket.new))
    call('PEXPIRE', bucket.name, bucket.window / 1000)
  end
end

local isLone = call('EXISTS', KEYS[2]) == 0
local isBacklog = false
if entered > 0 then
  local number = whole(first)
  local value = number .. ' ' .. table.concat(letters) .. '\n[' .. table.concat(items, ',') .. ']'
  call('SET', KEYS[9], value)
  call('ZADD', KEYS[2], number, batch)
  call('SET', KEYS[1], whole(lastEntered))
  accepted, queued, bytes = (accepted or 0) + entered, (queued or 0) + entered, (bytes or 0) + #value
  call('HSET', KEYS[4], 'accepted', whole(accepted), 'queued', whole(queued), 'bytes', whole(bytes))
  isBacklog = bytes > tonumber(ARGV[6]) or queued > tonumber(ARGV[7])
  call('ZADD', isBacklog and KEYS[10] or KEYS[7], math.floor(now / 1000), batch)
end

-- What is queued is asked about only if anything is: of one among many workspaces nothing is, mostly, and the questions are many.
local isAnyQueued = not isLone
local after = isLone and 0 or tonumber(call('ZREVRANGE', KEYS[5], 0, 0, 'WITHSCORES')[2] or '0')
local purges = after == 0 and 0 or call('ZCARD', KEYS[5])
local book = {}
for i, one in ipairs(asked) do
  local number = numbers[i]
  if number then
    local answer = answers[i] .. ' ' .. number .. ' ' .. purges .. (formers[i] and ' ' .. formers[i] or '')
    local withFacts = answer
    for place, id in ipairs(isAnyQueued and one.lookUp or {}) do
      local from, sayings = call('HGET', KEYS[3], id), saidAbout(KEYS[6], ofFacts, id, after ~= 0)
      if from or #sayings > 0 then
        if withFacts == answer then withFacts = {answer} end
        withFacts[#withFacts + 1] = place - 1
        withFacts[#withFacts + 1] = from or ''
        withFacts[#withFacts + 1] = sayings
      end
    end
    answers[i] = withFacts
    if isNew[i] then
      isAnyQueued = true
      if one.operation == 'purge_contact' then call('ZADD', KEYS[5], number, batch) end
      makeAllExist(KEYS[3], one.exists, number)
      sayAll(KEYS[6], ofFacts, one.said, number, after, math.huge)
      if one.record then
        book[#book + 1] = one.record
        book[#book + 1] = records[one.record]
      end
    end
  end
end
if #book > 0 then
  call('HSET', KEYS[8], unpack(book))
  call('EXPIRE', KEYS[8], recordSeconds)
end
answers[#asked + 1] = isBacklog and 'backlog' or isLone and 'lone' or 'outbox'
return answers
