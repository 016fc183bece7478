-- Takes settled batches of one workspace off the books, with their bodies and what they said. A batch that is gone already is left out.
-- KEYS ledger never. ARGV how the names of all keys of the workspace begin, idempotencySeconds; then for each batch its name, #submissions,
--      its idempotency keys behind its highest number, or an empty text, #exists, #facts, (value id) of exists, and (key saying number) of facts.
local call, of = redis.call, ARGV[1]
local outstanding, facts, ofFacts, exists, outbox = of .. 'outstanding', of .. 'facts', of .. 'facts:', of .. 'exists', of .. 'outbox'
local purges, removing, backlog, carriers, alone = of .. 'purges', of .. 'removing', of .. 'backlog', of .. 'carriers', of .. 'alone'
local names, bodies, keys, existing, said = {}, {}, {}, {}, {}
local settled, bytes = 0, 0
-- Mostly none of these is there, and one question is cheaper than to take the batches out of each.
local isPlain = call('EXISTS', purges, removing, backlog, carriers, alone) == 0
local at = 3
while at <= #ARGV do
  local name, submissions, keysText, existCount, factCount = unpack(ARGV, at, at + 4)
  local existsEnd = at + 4 + 2 * existCount
  local factsEnd = existsEnd + 3 * factCount
  local body = of .. 'batch:' .. name
  local length = bodies[body] and 0 or call('STRLEN', body)
  names[#names + 1] = name
  if length > 0 then
    bodies[#bodies + 1], bodies[body] = body, true
    settled, bytes = settled + submissions, bytes + length
    if keysText ~= '' then keys[#keys + 1] = keysText end
    for place = at + 5, existsEnd do existing[#existing + 1] = ARGV[place] end
    -- A decided purge has taken back what it said.
    if factCount ~= '0' and (isPlain or not call('ZSCORE', removing, name)) then
      for place = existsEnd + 1, factsEnd do said[#said + 1] = ARGV[place] end
    end
  end
  at = factsEnd + 1
end
if #keys > 0 then
  local settledKeys = of .. 'settled-keys'
  call('RPUSH', settledKeys, unpack(keys))
  keepFor(settledKeys, tonumber(ARGV[2]))
end
local function forgetBooks()
  -- Nothing of the workspace waits any more, so nothing is said any more, even if another version of the worker read sayings in another way.
  local held = call('HGETALL', facts)
  for place = 1, #held, 2 do
    if held[place + 1] == '+' then forgetSaid(ofFacts, held[place]) end
  end
  call('UNLINK', outstanding, facts, exists, outbox, unpack(bodies))
  if settled > 0 then call('HSET', KEYS[1], 'queued', 0, 'bytes', 0) end
  return settled
end
-- Where nothing is being removed, each batch that is there is outstanding.
if isPlain and call('ZCARD', outstanding) == #bodies then return forgetBooks() end
call('ZREM', outstanding, unpack(names))
if not isPlain then
  for _, set in ipairs({purges, removing, backlog}) do call('ZREM', set, unpack(names)) end
  for _, hash in ipairs({carriers, alone}) do call('HDEL', hash, unpack(names)) end
end
if call('EXISTS', outstanding, removing) == 0 then return forgetBooks() end
call('ZREM', outbox, unpack(names))
if settled > 0 then
  call('UNLINK', unpack(bodies))
  endAllExisting(exists, existing)
  unsayAll(facts, ofFacts, said)
  call('HINCRBY', KEYS[1], 'queued', -settled)
  call('HINCRBY', KEYS[1], 'bytes', -bytes)
end
return settled
