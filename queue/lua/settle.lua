-- Takes settled batches of one workspace off the books, with their bodies and what they said. A batch that is gone already is left out.
-- KEYS outstanding exists purges removing ledger facts outbox carriers settledKeys alone backlog never
-- ARGV how the names of facts and batches begin, idempotencySeconds; then for each batch its name, #submissions, its idempotency keys
--      behind its highest number, or an empty text, #exists, #facts, (value id) of exists, and (key saying number) of facts.
local call, ofFacts, ofBatch = redis.call, ARGV[1], ARGV[2]
local names, existing, said = {}, {}, {}
local settled, bytes = 0, 0
-- Mostly none of these is there, and one question is cheaper than to take the batches out of each.
local isPlain = call('EXISTS', KEYS[3], KEYS[4], KEYS[8], KEYS[10], KEYS[11]) == 0
local at = 4
while at <= #ARGV do
  local name, submissions, keys, exists, facts = unpack(ARGV, at, at + 4)
  local existsEnd = at + 4 + 2 * exists
  local factsEnd = existsEnd + 3 * facts
  names[#names + 1] = name
  local length = call('STRLEN', ofBatch .. name)
  if call('UNLINK', ofBatch .. name) == 1 then
    bytes = bytes + length
    settled = settled + submissions
    if keys ~= '' then call('RPUSH', KEYS[9], keys) end
    for place = at + 5, existsEnd do existing[#existing + 1] = ARGV[place] end
    -- A decided purge has taken back what it said.
    if facts ~= '0' and (isPlain or not call('ZSCORE', KEYS[4], name)) then
      for place = existsEnd + 1, factsEnd do said[#said + 1] = ARGV[place] end
    end
  end
  at = factsEnd + 1
end
endAllExisting(KEYS[2], existing)
unsayAll(KEYS[6], ofFacts, said)
call('ZREM', KEYS[1], unpack(names))
call('ZREM', KEYS[7], unpack(names))
if not isPlain then
  for _, place in ipairs({3, 4, 11}) do call('ZREM', KEYS[place], unpack(names)) end
  call('HDEL', KEYS[8], unpack(names))
  call('HDEL', KEYS[10], unpack(names))
end
call('EXPIRE', KEYS[9], ARGV[3])
if settled > 0 then
  call('HINCRBY', KEYS[5], 'queued', -settled)
  call('HINCRBY', KEYS[5], 'bytes', -bytes)
end
-- An empty book says nothing, even if another version of the worker read sayings in another way.
if call('EXISTS', KEYS[2], KEYS[6]) > 0 and call('EXISTS', KEYS[1], KEYS[4]) == 0 then
  for _, key in ipairs(call('HKEYS', KEYS[6])) do forgetSaid(ofFacts, key) end
  call('UNLINK', KEYS[2], KEYS[6])
end
return settled
