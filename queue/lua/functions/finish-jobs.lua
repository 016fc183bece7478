-- Finishes jobs that this token holds. `args` has id, result and attempts of each job, from place `from` to `last`, `step` apart.
-- Answers 1 for each job that is finished, also when an earlier call finished it, and 0 for a job that another token or nobody holds.
-- Of many jobs only the last ones are kept for operators to see: under load the others would be gone a moment later. `leftOf`, if it is
-- given, gets the place of a job that stays, and returns what is to be left of its body.
local function finishJobs(active, stalled, completed, told, args, from, last, step, leftOf)
  local prefix, now, token, keptOfOneCall, keptCount, keptSeconds = unpack(told)
  local answers, finished, gone, scores, locks = {}, {}, {}, {}, {}
  local firstKept = last + 1 - step * keptOfOneCall
  for at = from, last, step do locks[#locks + 1] = prefix .. args[at] .. ':lock' end
  local holders = redis.call('MGET', unpack(locks))
  for at = from, last, step do
    local id, key, place = args[at], prefix .. args[at], #answers + 1
    if holders[place] == token and redis.call('LREM', active, -1, id) == 1 then
      finished[#finished + 1] = id
      gone[#gone + 1] = locks[place]
      if at >= firstKept then
        redis.call('HSET', key, 'returnvalue', args[at + 1], 'atm', args[at + 2], 'finishedOn', now)
        if leftOf then redis.call('HSET', key, 'data', leftOf(at)) end
        scores[#scores + 1] = now
        scores[#scores + 1] = id
      else
        gone[#gone + 1] = key
        gone[#gone + 1] = key .. ':logs'
      end
      answers[place] = 1
    else
      local isGone = redis.call('EXISTS', key) == 0
      if leftOf and not isGone then redis.call('HSET', key, 'data', leftOf(at)) end
      answers[place] = not holders[place] and (isGone or redis.call('ZSCORE', completed, id)) and 1 or 0
    end
  end
  if #finished == 0 then return answers end
  redis.call('SREM', stalled, unpack(finished))
  if #scores > 0 then redis.call('ZADD', completed, unpack(scores)) end
  local surplus = math.min(redis.call('ZCARD', completed) - keptCount, 1000)
  local old = surplus > 0 and redis.call('ZRANGE', completed, 0, surplus - 1) or {}
  if #old == 0 then
    old = redis.call('ZRANGEBYSCORE', completed, '-inf', now - keptSeconds * 1000, 'LIMIT', 0, 1000)
  end
  if #old > 0 then redis.call('ZREM', completed, unpack(old)) end
  for _, id in ipairs(old) do
    gone[#gone + 1] = prefix .. id
    gone[#gone + 1] = prefix .. id .. ':logs'
  end
  redis.call('DEL', unpack(gone))
  return answers
end
