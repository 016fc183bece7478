-- Takes settled batches of one workspace off the books, with their bodies and what they said. A batch that is gone already is left out.
-- KEYS outstanding exists purges removing ledger facts outbox carriers settledKeys alone backlog never
-- ARGV how the names of facts and batches begin, idempotencySeconds; then for each batch its name, #submissions, its idempotency keys
--      behind its highest number, or an empty text, #exists, #facts, (value id) of exists, and (key saying number) of facts.
local call, ofFacts, ofBatch = redis.call, ARGV[1], ARGV[2]
local names, bodies, keys, existing, said = {}, {}, {}, {}, {}
local settled, bytes = 0, 0
-- Mostly none of these is there, and one question is cheaper than to take the batches out of each.
local isPlain = call('EXISTS', KEYS[3], KEYS[4], KEYS[8], KEYS[10], KEYS[11]) == 0
local at = 4
while at <= #ARGV do
  local name, submissions, keysText, exists, facts = unpack(ARGV, at, at + 4)
  local existsEnd = at + 4 + 2 * exists
  local factsEnd = existsEnd + 3 * facts
  local body = ofBatch .. name
  local length = bodies[body] and 0 or call('STRLEN', body)
  names[#names + 1] = name
  if length > 0 then
    bodies[#bodies + 1], bodies[body] = body, true
    settled, bytes = settled + submissions, bytes + length
    if keysText ~= '' then keys[#keys + 1] = keysText end
    for place = at + 5, existsEnd do existing[#existing + 1] = ARGV[place] end
    -- A decided purge has taken back what it said.
    if facts ~= '0' and (isPlain or not call('ZSCORE', KEYS[4], name)) then
      for place = existsEnd + 1, factsEnd do said[#said + 1] = ARGV[place] end
    end
  end
  at = factsEnd + 1
end
if #keys > 0 then
  call('RPUSH', KEYS[9], unpack(keys))
  call('EXPIRE', KEYS[9], ARGV[3])
end
call('ZREM', KEYS[1], unpack(names))
if not isPlain then
  for _, place in ipairs({3, 4, 11}) do call('ZREM', KEYS[place], unpack(names)) end
  call('HDEL', KEYS[8], unpack(names))
  call('HDEL', KEYS[10], unpack(names))
end
if call('EXISTS', KEYS[1], KEYS[4]) == 0 then
  -- Nothing of the workspace waits any more, so nothing is said any more, even if another version of the worker read sayings in another way.
  local held = call('HGETALL', KEYS[6])
  for place = 1, #held, 2 do
    if held[place + 1] == '+' then forgetSaid(ofFacts, held[place]) end
  end
  call('UNLINK', KEYS[2], KEYS[6], KEYS[7], unpack(bodies))
  if settled > 0 then call('HSET', KEYS[5], 'queued', 0, 'bytes', 0) end
  return settled
end
call('ZREM', KEYS[7], unpack(names))
if settled > 0 then
  call('UNLINK', unpack(bodies))
  endAllExisting(KEYS[2], existing)
  unsayAll(KEYS[6], ofFacts, said)
  call('HINCRBY', KEYS[5], 'queued', -settled)
  call('HINCRBY', KEYS[5], 'bytes', -bytes)
end
return settled
