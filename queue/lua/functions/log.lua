-- Functions about the log of a workspace, shared by the scripts. The fields of its state:
--   number           the last acceptance number given
--   appended, bytes  all submissions appended so far, and the bytes of their entries
--   again            how many of the appended submissions were in the log before
--   applied          a hint of the position in Postgres
--   done, doneBytes  the submissions appended up to `applied`, and the bytes of wholly applied
--                    entries
--   oldest           the number of the first submission after `applied`, if there is one
--   redoTo, redoAt   at the time redoAt, in ms, all entries up to redoTo were applied
--   purge, identify  the numbers of the last purge, and of the last submission that can identify a
--                    contact
--   forgotten        the book may lack idempotency keys of submissions up to this number
--   holder, until    the worker that has the lease, and the end of the lease in ms
--   took             how many submissions were read under the lease; 0 while a worker only stays
--   bound            how many submissions a stride may have; absent for full ones
--   quarantine       set during a quarantine
--   deaths           how many workers died in quarantine
local DEEP = {submissions = 250, bytes = 300000, bound = 16}
local LONGEST_LEASE_MS = 60000

local function whole(number) return string.format('%.0f', number) end

local function nowMicroseconds()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function readState(begin)
  local state = {number = 0, applied = 0, appended = 0, done = 0, bytes = 0, doneBytes = 0}
  local fields = redis.call('HGETALL', begin .. 'state')
  for at = 1, #fields, 2 do
    local field, value = fields[at], fields[at + 1]
    state[field] = field == 'holder' and value or tonumber(value)
  end
  return state
end

-- A lease with more than LONGEST_LEASE_MS left was taken before the clock went back.
local function isLeased(state, nowMs)
  return state.holder and state['until'] > nowMs and state['until'] <= nowMs + LONGEST_LEASE_MS
end

local function waitsForPurge(state) return (state.purge or 0) > state.applied end

local function waitsForIdentify(state) return (state.identify or 0) > state.applied end

local function isDeep(state)
  return state.appended - state.done > DEEP.submissions or state.bytes - state.doneBytes > DEEP.bytes
    or (state.bound or DEEP.bound) < DEEP.bound
end

local function groupOf(begin)
  return string.match(begin, '^(.*:)(.+):$')
end

-- Notes in the keys of the group (`groupKeys` in keys.ts) whether the log has entries.
local function noteEntries(begin, hasEntries)
  local group, id = groupOf(begin)
  redis.call(hasEntries and 'SADD' or 'SREM', group .. 'with-entries', id)
end

-- Notes in the keys of the group how many keys the idempotency book has.
local function noteBook(begin)
  local group, id = groupOf(begin)
  local keys = redis.call('HLEN', begin .. 'idempotency')
  if keys > 0 then redis.call('HSET', group .. 'books', id, keys) else redis.call('HDEL', group .. 'books', id) end
end

-- Notes a position, and how much was appended up to the position. If the log has no submission
-- after the position, notes the last number given.
local function notePosition(begin, state, position)
  local entry = redis.call('XRANGE', begin .. 'log', '(' .. whole(position) .. '-0', '+', 'COUNT', 1)[1]
  if entry then
    local first, letters, done, bytes = string.match(entry[2][2], '^%d+ (%d+) (%S+) %S+ (%d+) (%d+)')
    local skipped = math.max(0, position - first + 1)
    local _, applied = string.gsub(string.sub(letters, 1, skipped), '%a', '')
    state.done, state.doneBytes = done + applied, tonumber(bytes)
    state.oldest = first + string.find(letters, '%a', skipped + 1) - 1
  else
    position = math.max(position, state.number)
    state.done, state.doneBytes = state.appended, state.bytes
  end
  state.applied = position
  redis.call('HSET', begin .. 'state', 'applied', whole(position), 'done', state.done,
    'doneBytes', state.doneBytes, 'oldest', whole(state.oldest or 0))
end

-- Moves the noted position back to the older position of Postgres. So the entries after it wait
-- again.
local function rewind(begin, state, position)
  state.redoTo, state.redoAt = position, nil
  redis.call('HSET', begin .. 'state', 'redoTo', whole(position))
  redis.call('HDEL', begin .. 'state', 'redoAt')
  notePosition(begin, state, position)
end

-- An idle workspace keeps no empty stream.
local function trimThrough(begin, number)
  local log = begin .. 'log'
  redis.call('XTRIM', log, 'MINID', '=', whole(number + 1) .. '-0')
  if redis.call('XLEN', log) == 0 then redis.call('DEL', log) end
end

-- Removes entries that were applied `redoMs` ago. Without `redoAt`, no trim up to `redoTo` is due.
-- A `redoAt` ahead of the clock was noted before the clock went back.
local function trimApplied(begin, state, nowMs, redoMs)
  if state.redoAt and (nowMs >= state.redoAt + redoMs or nowMs < state.redoAt) then
    trimThrough(begin, state.redoTo)
    redis.call('HDEL', begin .. 'state', 'redoAt')
    state.redoAt = nil
  end
  if state.redoAt or state.applied <= (state.redoTo or 0) then return end
  state.redoTo, state.redoAt = state.applied, nowMs
  redis.call('HSET', begin .. 'state', 'redoTo', whole(state.redoTo), 'redoAt', whole(nowMs))
  if redoMs == 0 then trimApplied(begin, state, nowMs, 0) end
end
