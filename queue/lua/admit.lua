-- Admits submissions of one workspace that come together, in the order in which they came, each as if it were alone, in one round trip
-- and one atomic step on Redis's own clock. For each submission it decides whether its idempotency key was here before, whether it may
-- enter, which number it gets, and what is queued about the keys that it looks up. keys.ts describes the keys and their values.
--
-- An idempotency record is kept from its admission on. A later submission with the same idempotency key learns whether the recorded
-- submission is settled, outstanding, or overdue: outstanding for so long that it is lost unless it has a job. A record does not count
-- when its submission was withdrawn. It does not count either when its submission is outstanding and `lost` names it.
--
-- A job that comes along is queued at once. It may lie in another slot, so on a cluster no job comes along.
--
-- A record or a project exists from the first queued submission that makes it exist. An external id belongs to the last queued submission
-- that makes it exist, since a bare identify that is stored earlier may have gone to another key.
--
-- KEYS number outstanding exists ledger purges
-- ARGV 1 to 5: how the names of further keys begin (bucket, said, idempotency, concerned, withdrawn). The script completes these names,
--      since the whole names were half of what it was sent. All keys of a workspace are in one slot.
--      6 floor, 7 lostAfterMs, 8 idempotencySeconds, 9 the submissions as JSON (`askedOf` in ask-admission.ts, two dozen values each),
--      10 the options of jobs; then for each submission its job without the number and without the opening brace.
-- Returns for each submission `outcome remaining reset number purges submission standing`, as far as these exist; or a list of that text
-- and then, for each key looked up about which something is queued, its place, its value of exists, and its fields and values of said.
local ofBucket, ofSaid, ofRecord, ofConcerned, ofWithdrawn = unpack(ARGV, 1, 5)
local floor, lostAfter, recordSeconds = tonumber(ARGV[6]), ARGV[7] * 1000, ARGV[8]
local call, format = redis.call, string.format
local asked = cjson.decode(ARGV[9])
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local function bucket(name, tokens, window)
  if not tokens then return '- -' end
  local oldest = call('LINDEX', name, -1)
  while oldest and oldest + window * 1000 <= now do
    call('RPOP', name)
    oldest = call('LINDEX', name, -1)
  end
  local left = tokens - call('LLEN', name)
  return format('%d %.0f', left, oldest and oldest + window * 1000 - now or 0), left
end
local names, records = {}, {}
for _, one in ipairs(asked) do
  if one.record then names[#names + 1] = ofRecord .. one.record end
end
if #names > 0 then
  for i, record in ipairs(call('MGET', unpack(names))) do records[names[i]] = record end
end
local hasEntered = {}
local function standing(record, lost)
  local body, submission, number = string.match(record, '^([^:]*):([^:]*):([^:]*)')
  if not (hasEntered[submission] or call('ZSCORE', KEYS[2], submission)) then
    if call('EXISTS', ofWithdrawn .. submission) == 1 then return end
    return body, submission, number, 'settled'
  end
  if submission ~= lost then return body, submission, number, now - number < lostAfter and 'outstanding' or 'overdue' end
end
local last
local entered, answers, numbers, isNew, formers = {}, {}, {}, {}, {}
for i, one in ipairs(asked) do
  local submission, tokens, window = one.id, one.tokens, one.windowMs
  local spent = ofBucket .. one.operation
  local name = one.record and ofRecord .. one.record
  local formerBody, former, formerNumber, stands
  if name and records[name] then formerBody, former, formerNumber, stands = standing(records[name], one.lost) end
  if former then
    local said = bucket(spent, tokens, window)
    if formerBody ~= one.body then answers[i] = 'other-body ' .. said
    else answers[i], numbers[i], formers[i] = 'repeated ' .. said, formerNumber, former .. ' ' .. stands end
  elseif one.mode == 'peek' then
    answers[i] = 'fresh - -'
  else
    local said, left = bucket(spent, tokens, window)
    if left and left <= 0 then answers[i] = 'rate-limited ' .. said
    elseif one.mode == 'full' then answers[i] = 'full ' .. said
    else
      if left then
        call('LPUSH', spent, format('%.0f', now))
        call('PEXPIRE', spent, window)
        said = bucket(spent, tokens, window)
      end
      if not last then last = math.max(now - 1, floor, tonumber(call('GET', KEYS[1]) or '0')) end
      last = last + 1
      local number = format('%.0f', last)
      answers[i], numbers[i], isNew[i] = 'admitted ' .. said, number, true
      if name then records[name] = one.body .. ':' .. submission .. ':' .. number .. ':admitted' end
      entered[#entered + 1] = number
      entered[#entered + 1] = submission
      hasEntered[submission] = true
    end
  end
end
if last then
  call('ZADD', KEYS[2], unpack(entered))
  call('SET', KEYS[1], format('%.0f', last))
  call('HINCRBY', KEYS[4], 'accepted', #entered / 2)
end
local purges = call('ZCARD', KEYS[5])
local added = {}
for i, one in ipairs(asked) do
  local number = numbers[i]
  if number then
    local answer = answers[i] .. ' ' .. number .. ' ' .. purges .. (formers[i] and ' ' .. formers[i] or '')
    local told = answer
    for place, id in ipairs(one.lookUp) do
      local from, sayings = call('HGET', KEYS[3], id), call('HGETALL', ofSaid .. id)
      if from or #sayings > 0 then
        if told == answer then told = {answer} end
        told[#told + 1] = place - 1
        told[#told + 1] = from or ''
        told[#told + 1] = sayings
      end
    end
    answers[i] = told
    if isNew[i] then
      if one.operation == 'purge_contact' then purges = purges + call('ZADD', KEYS[5], number, one.id) end
      for _, existing in ipairs(one.exists) do
        local of = existing.of
        local set = (of == 'record' or of == 'project') and 'HSETNX' or 'HSET'
        call(set, KEYS[3], existing.id, number .. ':' .. of)
      end
      if one.queue then
        local data = '{"number":' .. number .. ',' .. ARGV[10 + i]
        call('HSET', one.queue .. one.id, 'name', one.operation, 'data', data, 'opts', ARGV[10], 'timestamp', math.floor(now / 1000))
        local ids = added[one.queue] or {}
        ids[#ids + 1] = one.id
        added[one.queue] = ids
      end
      for _, said in ipairs(one.said) do call('HSET', ofSaid .. said.keyId, number, said.sayings) end
      if one.record then
        call('SET', ofRecord .. one.record, records[ofRecord .. one.record], 'EX', recordSeconds)
        for _, key in ipairs(one.concerns) do
          call('ZADD', ofConcerned .. key, number, one.record)
          call('EXPIRE', ofConcerned .. key, recordSeconds)
        end
      end
    end
  end
end
for queue, ids in pairs(added) do pushJobs(queue .. 'wait', queue .. 'meta', queue .. 'marker', ids) end
return answers
