-- Own ids exist from the first queued submission that makes a record or a project exist. An external id belongs to the last queued
-- submission that makes it exist, since a bare identify that is stored earlier may have gone to another key.
local function makeExist(exists, id, of, number)
  local set = (of == 'record' or of == 'project') and 'HSETNX' or 'HSET'
  redis.call(set, exists, id, number .. ':' .. of)
end

-- As with facts, so many external ids at a time.
local EXISTING_AT_ONCE = 1000

-- Makes all exist that one submission does: `existing` is a list of id, of….
local function makeAllExist(exists, existing, number)
  for from = 1, #existing, 2 * EXISTING_AT_ONCE do
    local external = {}
    for at = from, math.min(from + 2 * EXISTING_AT_ONCE, #existing) - 1, 2 do
      local id, of = existing[at], existing[at + 1]
      if of == 'record' or of == 'project' then makeExist(exists, id, of, number)
      else
        external[#external + 1] = id
        external[#external + 1] = number .. ':' .. of
      end
    end
    if #external > 0 then redis.call('HSET', exists, unpack(external)) end
  end
end

-- Takes back what submissions made exist: `existing` is a list of value, id…. What a later one made exist as well stays.
local function endAllExisting(exists, existing)
  for from = 1, #existing, 2 * EXISTING_AT_ONCE do
    local ids, own = {}, {}
    for at = from, math.min(from + 2 * EXISTING_AT_ONCE, #existing) - 1, 2 do ids[#ids + 1] = existing[at + 1] end
    for i, held in ipairs(redis.call('HMGET', exists, unpack(ids))) do
      if held == existing[from + 2 * (i - 1)] then own[#own + 1] = ids[i] end
    end
    if #own > 0 then redis.call('HDEL', exists, unpack(own)) end
  end
end
