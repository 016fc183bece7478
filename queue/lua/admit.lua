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
-- all: `backlog` when the batch is there, else `outbox`.
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

local function bucket(name, tokens, window)
  if not tokens then return '- -' end
  -- What was spent before this clock went back is ahead of it, and would count until the clock is there again.
  local newest = call('LINDEX', name, 0)
  while newest and newest + 0 > now do
    call('LPOP', name)
    newest = call('LINDEX', name, 0)
  end
  local oldest = call('LINDEX', name, -1)
  while oldest and oldest + window * 1000 <= now do
    call('RPOP', name)
    oldest = call('LINDEX', name, -1)
  end
  local left = tokens - call('LLEN', name)
  return format('%d %.0f', left, oldest and oldest + window * 1000 - now or 0), left
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
  local spent = ofBucket .. one.operation
  local formerBody, former, formerNumber = formerOf(one)
  letters[i] = '-'
  if former then
    local said = bucket(spent, one.tokens, one.windowMs)
    if formerBody ~= one.body then answers[i] = 'other-body ' .. said
    else
      answers[i], numbers[i], formers[i] = 'repeated ' .. said, formerNumber, former
      -- Changes nothing, and is written: a WAIT behind it waits for all that was written before, the former admission among it.
      local life = call('PTTL', KEYS[8])
      if life > 0 then call('PEXPIRE', KEYS[8], life) end
    end
  elseif one.record and not isBookWhole and not one.known then answers[i] = 'unknown-key - -'
  elseif one.mode == 'peek' then answers[i] = 'fresh - -'
  else
    local said, left = bucket(spent, one.tokens, one.windowMs)
    if left and left <= 0 then answers[i] = 'rate-limited ' .. said
    elseif isFull or one.mode == 'full' then answers[i] = 'full ' .. said
    else
      if left then
        call('LPUSH', spent, whole(now))
        call('PEXPIRE', spent, one.windowMs)
        said = bucket(spent, one.tokens, one.windowMs)
      end
      lastEntered = first + i - 1
      local number = whole(lastEntered)
      answers[i], numbers[i], isNew[i] = 'admitted ' .. said, number, true
      if one.record then records[one.record] = one.begin .. format('%x', lastEntered) end
      entered = entered + 1
      letters[i], items[entered] = one.letter, ARGV[9 + i]
    end
  end
end

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

local after = tonumber(call('ZREVRANGE', KEYS[5], 0, 0, 'WITHSCORES')[2] or '0')
local purges = after == 0 and 0 or call('ZCARD', KEYS[5])
local book = {}
for i, one in ipairs(asked) do
  local number = numbers[i]
  if number then
    local answer = answers[i] .. ' ' .. number .. ' ' .. purges .. (formers[i] and ' ' .. formers[i] or '')
    local told = answer
    for place, id in ipairs(one.lookUp) do
      local from, sayings = call('HGET', KEYS[3], id), saidAbout(KEYS[6], ofFacts, id, after ~= 0)
      if from or #sayings > 0 then
        if told == answer then told = {answer} end
        told[#told + 1] = place - 1
        told[#told + 1] = from or ''
        told[#told + 1] = sayings
      end
    end
    answers[i] = told
    if isNew[i] then
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
answers[#asked + 1] = isBacklog and 'backlog' or 'outbox'
return answers
