-- Facts: what queued submissions say about a key. The same saying is kept once, with the numbers between which it was said and how often,
-- so that an admission costs the same however many submissions that say it wait. A purge parts what was said before it from what is said
-- after it, so each saying has spans, `first,count` or `first,count,last` by ascending number, between semicolons. The field of a key
-- holds the spans and the saying while all say the same; else it is `+`, and a hash of its own has the spans of each saying.

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

local function say(facts, ofFacts, key, saying, number, after, before)
  local held = redis.call('HGET', facts, key)
  if not held then
    redis.call('HSET', facts, key, number .. ',1 ' .. saying)
    return
  end
  if held ~= '+' then
    local spans, said = string.match(held, '^(%S+) (.*)$')
    if said == saying then
      redis.call('HSET', facts, key, widened(spans, number, after, before) .. ' ' .. saying)
      return
    end
    redis.call('HSET', ofFacts .. key, said, spans)
    redis.call('HSET', facts, key, '+')
  end
  local spans = redis.call('HGET', ofFacts .. key, saying)
  redis.call('HSET', ofFacts .. key, saying, spans and widened(spans, number, after, before) or number .. ',1')
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
    redis.call('HSET', ofFacts .. key, saying, left)
    return
  end
  redis.call('HDEL', ofFacts .. key, saying)
  if redis.call('EXISTS', ofFacts .. key) == 0 then redis.call('HDEL', facts, key) end
end

-- Sayings and their spans, one after the other.
local function saidAbout(facts, ofFacts, key)
  local held = redis.call('HGET', facts, key)
  if not held then return {} end
  if held == '+' then return redis.call('HGETALL', ofFacts .. key) end
  local spans, said = string.match(held, '^(%S+) (.*)$')
  return {said, spans}
end
