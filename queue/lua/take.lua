-- For each workspace: notes the position, trims entries that were applied long ago, leases the log,
-- and reads from it. The step that finds no submission left also releases the lease. So the next
-- admission finds no lease and wakes a worker: no wake is lost.
--
-- With 0 submissions, a take reads nothing: it keeps the lease for a worker that stays with the
-- workspace, or releases the lease if its length is 0. A worker does not stay while an identify or a
-- purge waits: answers to later requests may wait for it.
--
-- A lease that ran out without a release is a death of a worker, unless the worker only stayed with
-- the workspace. A death halves the bound of the
-- next strides. At a bound of one, a death in quarantine counts as a quarantine death instead.
--
-- KEYS state never (a key that never exists; keys.ts says why), of the first workspace.
-- ARGV 1: worker; 2: length of a lease in ms; 3: submissions; 4: bytes; 5: whether to take deep
-- logs (1 or 0); 6: how long applied entries stay, in ms; 7: the submissions of a full stride; then
-- for each workspace how its keys begin, and applied, rewindTo and the bound of the next strides
-- (`full` for none), or empty texts.
-- Returns for each 0 (idle), 1 (leased), 2 (deep), 3 (awaited), or a list: the number after which the log was
-- read, the bound or an empty text, quarantine deaths, then entries.
local worker, leaseMs, submissions, mostBytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local takesDeep, redoMs, fullStride = ARGV[5] == '1', tonumber(ARGV[6]), tonumber(ARGV[7])
local call = redis.call
local nowMs = math.floor(nowMicroseconds() / 1000)
local IDLE, LEASED, DEEP_LOG, AWAITED = 0, 1, 2, 3
-- Entries that may be large are read one by one: entries beyond `mostBytes` are read in vain.
local ENTRIES_AT_ONCE, LARGE_BYTES = 8, 100000
-- A worker that dies can hold many small logs. With this least count of held submissions, one death
-- at full strides does not make a small log deep.
local LEAST_HELD = 32

local function noteDeath(key, state)
  if state.bound == 1 and state.quarantine then
    state.deaths = (state.deaths or 0) + 1
    call('HSET', key, 'deaths', state.deaths)
  else
    local held = math.max(LEAST_HELD, state.took or fullStride)
    state.bound = math.max(1, math.floor(math.min(state.bound or fullStride, held) / 2))
    call('HSET', key, 'bound', state.bound)
  end
end

local function noteBound(key, state, bound)
  state.bound = bound ~= 'full' and tonumber(bound) or nil
  if state.bound then call('HSET', key, 'bound', bound) else call('HDEL', key, 'bound') end
end

-- Counts the submissions of an entry after a number.
local function countAfter(value, number)
  local first, letters = string.match(value, '^%d+ (%d+) (%S+)')
  local _, count = string.gsub(string.sub(letters, math.max(0, number - first + 1) + 1), '%a', '')
  return count
end

local function read(log, after, last, most)
  local values, count, bytes, from = {}, 0, 0, after
  while count < most and bytes < mostBytes and from < last do
    local isAlone = #values == 0 or bytes > LARGE_BYTES * #values
    local atOnce = isAlone and 1 or ENTRIES_AT_ONCE
    local found = call('XRANGE', log, '(' .. whole(from) .. '-0', '+', 'COUNT', atOnce)
    if #found == 0 then break end
    for _, entry in ipairs(found) do
      local value = entry[2][2]
      from = tonumber(string.match(entry[1], '^%d+'))
      if count < most and (#values == 0 or bytes + #value <= mostBytes) then
        values[#values + 1] = value
        count, bytes = count + countAfter(value, after), bytes + #value
      else
        return values, count
      end
    end
  end
  return values, count
end

local function take(begin, applied, rewindTo, bound)
  local key, state = begin .. 'state', readState(begin)
  -- The workspace is deleted, or Redis has lost its keys.
  if state.number == 0 then return IDLE end
  local hasOtherHolder = state.holder and state.holder ~= worker
  if hasOtherHolder and isLeased(state, nowMs) then return LEASED end
  if hasOtherHolder and state['until'] <= nowMs and state.took ~= 0 then noteDeath(key, state) end
  if state.holder ~= worker then call('HDEL', key, 'quarantine') end
  if bound ~= '' then noteBound(key, state, bound) end
  if applied and applied > state.applied then
    notePosition(begin, state, applied)
    state.deaths = nil
    call('HDEL', key, 'deaths', 'quarantine')
  end
  if rewindTo and rewindTo < state.applied then rewind(begin, state, rewindTo) end
  trimApplied(begin, state, nowMs, redoMs)
  local function release(answer)
    if state.holder then call('HDEL', key, 'holder', 'until', 'quarantine') end
    return answer
  end
  local function leave(answer)
    if submissions > 0 or leaseMs == 0 then return release(answer) end
    call('HSET', key, 'holder', worker, 'until', nowMs + leaseMs, 'took', 0)
    return answer
  end
  if state.applied >= state.number then return leave(IDLE) end
  if not takesDeep and isDeep(state) then return release(DEEP_LOG) end
  local answer = {whole(state.applied), tostring(state.bound or ''), state.deaths or 0}
  if submissions == 0 then
    local isAwaited = waitsForPurge(state) or waitsForIdentify(state)
    return isAwaited and leaseMs > 0 and AWAITED or leave(answer)
  end
  local most = math.min(submissions, state.bound or submissions)
  local values, count = read(begin .. 'log', state.applied, state.number, most)
  if #values == 0 then
    notePosition(begin, state, state.number)
    return release(IDLE)
  end
  call('HSET', key, 'holder', worker, 'until', nowMs + leaseMs, 'took', math.max(1, math.min(count, most)))
  for _, value in ipairs(values) do answer[#answer + 1] = value end
  return answer
end

local answers = {}
for at = 8, #ARGV, 4 do
  answers[#answers + 1] = take(ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3])
end
return answers
