-- Facts: what queued submissions say about a key. The same saying is kept once, with the numbers between which it was said and how often,
-- so that an admission costs the same however many submissions that say it wait. A purge parts what was said before it from what is said
-- after it, so each saying has spans, `first,count` or `first,count,last` by ascending number, between semicolons. The field of a key
-- holds the spans and the saying while all say the same; else it is `+`, a hash of its own has the spans of each saying, and a sorted set
-- has the sayings by the number with which each was said last.

-- `after` and `before` are the numbers of the purges between which it is said. A submission that is put on the books again has an old
-- number: it joins the span that it lies in or beside, so that spans never overlap, and `narrowed` finds the span of any number.
local function widened(spans, number, after, before)
  local all, place, at = {}, 0, tonumber(number)
  for span in string.gmatch(spans, '[^;]+') do
    all[#all + 1] = span
    if tonumber(string.match(span, '^%d+')) <= at then place = #all end
  end
  for neighbour = math.max(place, 1), math.min(place + 1, #all) do
    local first, count, last = string.match(all[neighbour], '^(%d+),(%d+),?(%d*)$')
    if last == '' then last = first end
    if tonumber(last) > after and tonumber(first) < before then
      if at < tonumber(first) then first = number elseif at > tonumber(last) then last = number end
      all[neighbour] = first .. ',' .. string.format('%d', count + 1) .. ',' .. last
      return table.concat(all, ';')
    end
  end
  table.insert(all, place + 1, number .. ',1')
  return table.concat(all, ';')
end

local function narrowed(spans, number)
  local left = {}
  for span in string.gmatch(spans, '[^;]+') do left[#left + 1] = span end
  for at = #left, 1, -1 do
    local first, count, last = string.match(left[at], '^(%d+),(%d+)(.*)$')
    if tonumber(first) <= tonumber(number) then
      if count == '1' then table.remove(left, at)
      else left[at] = first .. ',' .. string.format('%d', count - 1) .. last end
      break
    end
  end
  return table.concat(left, ';')
end

local function lastNumberOf(spans)
  local first, last = string.match(spans, '(%d+),%d+,?(%d*)$')
  return last == '' and first or last
end

-- The sorted set of a key about which different things are said.
local function orderOf(ofFacts, key) return ofFacts .. key .. ':order' end

local function keepSaying(ofFacts, key, saying, spans)
  redis.call('HSET', ofFacts .. key, saying, spans)
  redis.call('ZADD', orderOf(ofFacts, key), lastNumberOf(spans), saying)
end

-- Says something about a key about which something is queued already: `held`.
local function sayBesides(facts, ofFacts, held, key, saying, number, after, before)
  if held ~= '+' then
    local spans, said = string.match(held, '^(%S+) (.*)$')
    if said == saying then
      redis.call('HSET', facts, key, widened(spans, number, after, before) .. ' ' .. saying)
      return
    end
    redis.call('UNLINK', orderOf(ofFacts, key))
    keepSaying(ofFacts, key, said, spans)
    redis.call('HSET', facts, key, '+')
  end
  local spans = redis.call('HGET', ofFacts .. key, saying)
  keepSaying(ofFacts, key, saying, spans and widened(spans, number, after, before) or number .. ',1')
end

-- Redis answers nobody else during a script, and a conversation can say 20,000 things. Nothing is queued yet about nearly all of these keys,
-- so keys are read and written so many at a time: two calls for each took two to three times as long.
local AT_ONCE = 1000

-- Says all that one submission says: `said` is a list of key, saying… in which each key stands once. `isFirst`: nothing is said yet.
local function sayAll(facts, ofFacts, said, number, after, before, isFirst)
  for from = 1, #said, 2 * AT_ONCE do
    local keys, new = {}, {}
    for at = from, math.min(from + 2 * AT_ONCE, #said) - 1, 2 do keys[#keys + 1] = said[at] end
    local helds = isFirst and {} or redis.call('HMGET', facts, unpack(keys))
    for i, key in ipairs(keys) do
      local held, saying = helds[i], said[from + 2 * i - 1]
      if held then sayBesides(facts, ofFacts, held, key, saying, number, after, before)
      else
        new[#new + 1] = key
        new[#new + 1] = number .. ',1 ' .. saying
      end
    end
    if #new > 0 then redis.call('HSET', facts, unpack(new)) end
  end
end

local function unsay(facts, ofFacts, key, saying, number)
  local held = redis.call('HGET', facts, key)
  if not held then return end
  if held ~= '+' then
    local spans, said = string.match(held, '^(%S+) (.*)$')
    if said ~= saying then return end
    local left = narrowed(spans, number)
    if left == '' then redis.call('HDEL', facts, key) else redis.call('HSET', facts, key, left .. ' ' .. saying) end
    return
  end
  local spans = redis.call('HGET', ofFacts .. key, saying)
  if not spans then return end
  local left = narrowed(spans, number)
  if left ~= '' then
    keepSaying(ofFacts, key, saying, left)
    return
  end
  redis.call('HDEL', ofFacts .. key, saying)
  redis.call('ZREM', orderOf(ofFacts, key), saying)
  if redis.call('EXISTS', ofFacts .. key) == 0 then redis.call('HDEL', facts, key) end
end

-- Takes back all that submissions said: `said` is a list of key, saying, number….
local function unsayAll(facts, ofFacts, said)
  for from = 1, #said, 3 * AT_ONCE do
    local keys, only = {}, {}
    for at = from, math.min(from + 3 * AT_ONCE, #said) - 1, 3 do keys[#keys + 1] = said[at] end
    for i, held in ipairs(redis.call('HMGET', facts, unpack(keys))) do
      local at = from + 3 * (i - 1)
      if held == said[at + 2] .. ',1 ' .. said[at + 1] then only[#only + 1] = keys[i]
      elseif held then unsay(facts, ofFacts, keys[i], said[at + 1], said[at + 2]) end
    end
    if #only > 0 then redis.call('HDEL', facts, unpack(only)) end
  end
end

-- Of a key about which more different things are said, so many that were said first and as many that were said last are told: what a key
-- means follows from these, and a look-up costs the same however many wait.
local TOLD = 10

-- Sayings and their spans, one after the other; `whole`: all of them, as long as a purge is undecided, which takes some of them away.
local function saidAbout(facts, ofFacts, key, whole)
  local held = redis.call('HGET', facts, key)
  if not held then return {} end
  if held ~= '+' then
    local spans, said = string.match(held, '^(%S+) (.*)$')
    return {said, spans}
  end
  local count = redis.call('HLEN', ofFacts .. key)
  -- The version before keeps no order: of what it has said, or taken back, all is told.
  if whole or count <= 2 * TOLD or redis.call('ZCARD', orderOf(ofFacts, key)) ~= count then
    return redis.call('HGETALL', ofFacts .. key)
  end
  local sayings = redis.call('ZRANGE', orderOf(ofFacts, key), 0, TOLD - 1)
  for _, saying in ipairs(redis.call('ZRANGE', orderOf(ofFacts, key), -TOLD, -1)) do sayings[#sayings + 1] = saying end
  local told = {}
  for at, spans in ipairs(redis.call('HMGET', ofFacts .. key, unpack(sayings))) do
    told[#told + 1] = sayings[at]
    told[#told + 1] = spans
  end
  return told
end

-- Forgets all that is said about a key.
local function forgetSaid(ofFacts, key) redis.call('UNLINK', ofFacts .. key, orderOf(ofFacts, key)) end
