-- Takes settled batches off the books, with their bodies and what they said. A batch that is gone already is left out.
-- KEYS ledger never, of the first of the workspaces: on a cluster there is one. ARGV idempotencySeconds; then for each workspace how the names
-- of all its keys begin, #batches, and for each batch its name, #submissions, its idempotency keys behind its highest number, or an empty
-- text, #exists, #facts, (value id) of exists, and (key saying number) of facts.
local call, recordSeconds = redis.call, tonumber(ARGV[1])

-- Nothing of a workspace waits any more, so nothing is said any more, even if another version of the worker read sayings in another way.
local function forgetBooks(of, bodies)
  local facts = of .. 'facts'
  local held = call('HGETALL', facts)
  for place = 1, #held, 2 do
    if held[place + 1] == '+' then forgetSaid(of .. 'facts:', held[place]) end
  end
  call('UNLINK', of .. 'outstanding', facts, of .. 'exists', of .. 'outbox', unpack(bodies))
  if #bodies > 0 then call('HSET', of .. 'ledger', 'queued', 0, 'bytes', 0) end
end

-- Settles batches of one workspace, of which the first stands at `at`, and returns where the next workspace stands.
local function settle(of, count, at)
  local outstanding, removing = of .. 'outstanding', of .. 'removing'
  local purges, backlog, carriers, alone = of .. 'purges', of .. 'backlog', of .. 'carriers', of .. 'alone'
  local names, bodies, keys, existing, said = {}, {}, {}, {}, {}
  local settled, bytes = 0, 0
  -- Mostly none of these is there, and one question is cheaper than to take the batches out of each.
  local isPlain = call('EXISTS', purges, removing, backlog, carriers, alone) == 0
  for place = 1, count do
    local name, submissions, keysText, existCount, factCount = unpack(ARGV, at, at + 4)
    local existsEnd = at + 4 + 2 * existCount
    local factsEnd = existsEnd + 3 * factCount
    local body = of .. 'batch:' .. name
    local length = bodies[body] and 0 or call('STRLEN', body)
    names[place] = name
    if length > 0 then
      bodies[#bodies + 1], bodies[body] = body, true
      settled, bytes = settled + submissions, bytes + length
      if keysText ~= '' then keys[#keys + 1] = keysText end
      for each = at + 5, existsEnd do existing[#existing + 1] = ARGV[each] end
      -- A decided purge has taken back what it said.
      if factCount ~= '0' and (isPlain or not call('ZSCORE', removing, name)) then
        for each = existsEnd + 1, factsEnd do said[#said + 1] = ARGV[each] end
      end
    end
    at = factsEnd + 1
  end
  if #keys > 0 then
    call('RPUSH', of .. 'settled-keys', unpack(keys))
    keepFor(of .. 'settled-keys', recordSeconds)
  end
  -- Where nothing is being removed, each batch that is there is outstanding.
  if isPlain and call('ZCARD', outstanding) == #bodies then
    forgetBooks(of, bodies)
    return at
  end
  call('ZREM', outstanding, unpack(names))
  if not isPlain then
    for _, set in ipairs({purges, removing, backlog}) do call('ZREM', set, unpack(names)) end
    for _, hash in ipairs({carriers, alone}) do call('HDEL', hash, unpack(names)) end
  end
  if call('EXISTS', outstanding, removing) == 0 then
    forgetBooks(of, bodies)
    return at
  end
  call('ZREM', of .. 'outbox', unpack(names))
  if settled > 0 then
    call('UNLINK', unpack(bodies))
    endAllExisting(of .. 'exists', existing)
    unsayAll(of .. 'facts', of .. 'facts:', said)
    call('HINCRBY', of .. 'ledger', 'queued', -settled)
    call('HINCRBY', of .. 'ledger', 'bytes', -bytes)
  end
  return at
end

local at = 2
while at <= #ARGV do at = settle(ARGV[at], tonumber(ARGV[at + 1]), at + 2) end
return 0
