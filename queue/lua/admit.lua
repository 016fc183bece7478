-- Admits submissions of one workspace and one queue that come together, in the order in which they came, each as if it were alone, in
-- one round trip and one atomic step on Redis's own clock. For each submission it decides whether its idempotency key was here before,
-- whether it may enter, which number it gets, and what is queued about the keys that it looks up. Those that enter are one batch: it is
-- kept, put on the books and into the outbox; or into the backlog, when its workspace has much waiting already. After this step nothing has to be undone. keys.ts describes the keys and their values.
--
-- A submission in place p of a call gets the number of the first place plus p - 1, so the numbers of the refused are left out.
-- A missing idempotency key is unknown when it may have left the book; then the caller looks in Postgres, and asks again with `known`:
-- the record that it found, or an empty text.
--
-- KEYS ledger never
-- ARGV 1 how the names of all keys of the workspace begin, 2 floor, 3 idempotencySeconds, 4 batchId, 5 and 6 the bytes and the submissions
--      beyond which it has a backlog, 7 the bytes beyond which nothing more of it enters, 8 the submissions as JSON (`askedOf` in
--      ask-admission.ts); then for each submission its item in the batch.
-- Returns for each submission `outcome remaining reset number purges submission`, as far as these exist; or a list of that text and then,
-- for each key looked up about which something is queued, its place, its value of exists, and its sayings with their spans. Behind them
-- all: `backlog` when the batch is there, or what it follows: `nothing` or `no purge` that is outstanding, or `purge`.
local of, floor, recordSeconds, batch = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local ledger, outstanding, facts, ofFacts = KEYS[1], of .. 'outstanding', of .. 'facts', of .. 'facts:'
local idempotency, purges = of .. 'idempotency', of .. 'purges'
local call, format = redis.call, string.format
local asked = cjson.decode(ARGV[8])
local function whole(number) return format('%.0f', number) end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local last = tonumber(call('GET', of .. 'number') or '0')
local accepted, queued, bytes, forgotten = unpack(call('HMGET', ledger, 'accepted', 'queued', 'bytes', 'forgotten'))
-- Postgres has a higher number than this Redis has given: it has lost what it knew, idempotency keys too.
if floor > last then
  forgotten = whole(floor)
  call('HSET', ledger, 'forgotten', forgotten)
end
local first = math.max(now, floor + 1, last + 1)
local isFull = tonumber(bytes or '0') > tonumber(ARGV[7])
local oldestRecord = now - recordSeconds * 1000000

-- What was spent of the limit of an operation within its window: read once, and written once, however many submissions spend of it.
local buckets = {}
local function bucketOf(one)
  if not one.tokens then return end
  local bucket = buckets[one.operation]
  if bucket then return bucket end
  local name, window = of .. 'bucket:' .. one.operation, one.windowMs * 1000
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
  for i, record in ipairs(call('HMGET', idempotency, unpack(names))) do records[names[i]] = record end
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
      local life = call('PTTL', idempotency)
      if life > 0 then call('PEXPIRE', idempotency, life) end
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
    letters[i], items[entered] = one.letter, ARGV[8 + i]
  end
end

for _, bucket in pairs(buckets) do
  if #bucket.new > 0 then
    call('LPUSH', bucket.name, unpack(bucket.new))
    call('PEXPIRE', bucket.name, bucket.window / 1000)
  end
end

local isLone = call('EXISTS', outstanding) == 0
local isBacklog = false
if entered > 0 then
  local number = whole(first)
  local value = number .. ' ' .. table.concat(letters) .. '\n[' .. table.concat(items, ',') .. ']'
  call('SET', of .. 'batch:' .. batch, value)
  call('ZADD', outstanding, number, batch)
  call('SET', of .. 'number', lastEntered)
  accepted, queued, bytes = (accepted or 0) + entered, (queued or 0) + entered, (bytes or 0) + #value
  call('HSET', ledger, 'accepted', accepted, 'queued', queued, 'bytes', bytes)
  isBacklog = bytes > tonumber(ARGV[5]) or queued > tonumber(ARGV[6])
  call('ZADD', of .. (isBacklog and 'backlog' or 'outbox'), math.floor(now / 1000), batch)
end

-- What is queued is asked about only if anything is: of one among many workspaces nothing is, mostly, and the questions are many.
local isAnyQueued, isNothingSaid = not isLone, isLone
local after = isLone and 0 or tonumber(call('ZREVRANGE', purges, 0, 0, 'WITHSCORES')[2] or '0')
local undecided = after == 0 and 0 or call('ZCARD', purges)
local book = {}
for i, one in ipairs(asked) do
  local number = numbers[i]
  if number then
    local answer = answers[i] .. ' ' .. number .. ' ' .. undecided .. (formers[i] and ' ' .. formers[i] or '')
    local withFacts = answer
    for place, id in ipairs(isAnyQueued and one.lookUp or {}) do
      local from, sayings = call('HGET', of .. 'exists', id), saidAbout(facts, ofFacts, id, after ~= 0)
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
      if one.operation == 'purge_contact' then call('ZADD', purges, number, batch) end
      makeAllExist(of .. 'exists', one.exists, number)
      sayAll(facts, ofFacts, one.said, number, after, math.huge, isNothingSaid)
      isNothingSaid = false
      if one.record then
        book[#book + 1] = one.record
        book[#book + 1] = records[one.record]
      end
    end
  end
end
if #book > 0 then
  call('HSET', idempotency, unpack(book))
  keepFor(idempotency, recordSeconds)
end
answers[#asked + 1] = isBacklog and 'backlog' or isLone and 'nothing' or after == 0 and 'no purge' or 'purge'
return answers
