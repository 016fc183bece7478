/**
 * One round trip and one atomic step on Redis's own clock for submissions of one workspace that come together, in the order in
 * which they came, each as if it were alone: has it been here before, may it enter, which number does it get, and what is queued
 * about the keys it asks for. The bucket is the list of the moments at which its missing tokens were spent, oldest last, in
 * microseconds. An idempotency record is body:submission:number:state. Clients send a command once more when its answer was
 * lost with the connection, so a submission that is admitted already is told so, and counted once.
 *
 * KEYS number outstanding exists ledger purges. ARGV the names, up to what is their own, of the keys of buckets, of what is said, of
 * idempotency records and of the sets of such records by whom they concern: keys of one slot, which the script completes itself,
 * since names were half of what it was sent. Then floor inFlightSeconds idempotencySeconds, and as JSON
 * [operation:key, record]… that were answered, and the submissions (`Sent` in admission.ts).
 *
 * Returns for each submission `outcome remaining reset number purges submission`, as far as there is any; or that and then, for
 * each key looked up about which something is queued, its place, the value of exists, and what is said.
 */
export const ADMIT = `
local ofBucket, ofSaid, ofRecord, ofConcerned = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local floor, inFlightSeconds, recordSeconds = tonumber(ARGV[5]), ARGV[6], ARGV[7]
for _, mark in ipairs(cjson.decode(ARGV[8])) do
  redis.call('SET', ofRecord .. mark[1], mark[2], 'EX', recordSeconds)
end
local asked = cjson.decode(ARGV[9])
if #asked == 0 then return {} end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function bucket(operation, tokens, window)
  if tokens == 0 then return '- -' end
  local name = ofBucket .. operation
  local oldest = redis.call('LINDEX', name, -1)
  while oldest and oldest + window * 1000 <= now do
    redis.call('RPOP', name)
    oldest = redis.call('LINDEX', name, -1)
  end
  local left = tokens - redis.call('LLEN', name)
  return string.format('%d %.0f', left, oldest and oldest + window * 1000 - now or 0), left
end
local ids, names, records = {}, {}, {}
for i, one in ipairs(asked) do
  ids[i] = one[1]
  if one[6] ~= '' then names[#names + 1] = ofRecord .. one[6] end
end
local admitted = redis.call('ZMSCORE', KEYS[2], unpack(ids))
if #names > 0 then
  for i, record in ipairs(redis.call('MGET', unpack(names))) do records[names[i]] = record end
end
local last
local entered, purging, answers = {}, {}, {}
for i, one in ipairs(asked) do
  local submission, operation, tokens, window, mode, key, body = unpack(one, 1, 7)
  local record = key ~= '' and records[ofRecord .. key]
  if admitted[i] then
    answers[i] = {'admitted', bucket(operation, tokens, window), admitted[i]}
  elseif record then
    local formerBody, former, number, state = string.match(record, '^([^:]*):([^:]*):([^:]*):([^:]*)$')
    if formerBody ~= body then answers[i] = 'other-body ' .. bucket(operation, tokens, window)
    elseif state == 'in-flight' then answers[i] = 'in-flight ' .. bucket(operation, tokens, window)
    else answers[i] = {'repeated', bucket(operation, tokens, window), number, former} end
  elseif mode == 'peek' then
    answers[i] = 'fresh - -'
  else
    local said, left = bucket(operation, tokens, window)
    if left and left <= 0 then answers[i] = 'rate-limited ' .. said
    elseif mode == 'full' then answers[i] = 'full ' .. said
    else
      if not last then last = math.max(now - 1, floor, tonumber(redis.call('GET', KEYS[1]) or '0')) end
      last = last + 1
      local number = string.format('%.0f', last)
      if left then
        redis.call('LPUSH', ofBucket .. operation, string.format('%.0f', now))
        redis.call('PEXPIRE', ofBucket .. operation, window)
        said = bucket(operation, tokens, window)
      end
      answers[i] = {'admitted', said, number, isNew = true}
      if key ~= '' then records[ofRecord .. key] = body .. ':' .. submission .. ':' .. number .. ':in-flight' end
      entered[#entered + 1] = number
      entered[#entered + 1] = submission
    end
  end
end
if last then
  redis.call('SET', KEYS[1], string.format('%.0f', last))
  redis.call('ZADD', KEYS[2], unpack(entered))
  redis.call('HINCRBY', KEYS[4], 'accepted', #entered / 2)
end
local purges = redis.call('ZCARD', KEYS[5])
for i, one in ipairs(asked) do
  local answer = answers[i]
  if type(answer) == 'table' then
    local number = answer[3]
    local told = {table.concat({answer[1], answer[2], number, purges, answer[4]}, ' ')}
    for place, id in ipairs(one[11]) do
      local exists, said = redis.call('HGET', KEYS[3], id), redis.call('HGETALL', ofSaid .. id)
      if exists or #said > 0 then
        told[#told + 1] = place
        told[#told + 1] = exists or ''
        told[#told + 1] = said
      end
    end
    if answer.isNew then
      if one[8] == 1 then purges = purges + redis.call('ZADD', KEYS[5], number, one[1]) end
      for _, new in ipairs(one[9]) do redis.call('HSETNX', KEYS[3], new[1], number .. ':' .. new[2]) end
      for _, said in ipairs(one[10]) do redis.call('HSET', ofSaid .. said[1], number, said[2]) end
      if one[6] ~= '' then
        local name = ofRecord .. one[6]
        redis.call('SET', name, records[name], 'EX', inFlightSeconds)
        for _, id in ipairs(one[12]) do
          redis.call('SADD', ofConcerned .. id, name)
          redis.call('EXPIRE', ofConcerned .. id, recordSeconds)
        end
      end
    end
    answers[i] = #told == 1 and told[1] or told
  end
end
return answers
`
