-- For each workspace: trims entries that were applied long ago, and tells whether to wake the
-- workspace. Without a lease, the noted position first moves back to an older one of Postgres. Notes
-- whether entries are left.
-- KEYS state never (a key that never exists; keys.ts says why), of the first workspace.
-- ARGV 1: how long a submission may wait, in ms; 2: how long applied entries stay, in ms; then for
-- each workspace how its keys begin, and its position in Postgres or an empty text.
-- Returns for each 0 (do not wake), 1 (wake), or 2 (wake as deep).
local waitMicroseconds, redoMs = ARGV[1] * 1000, tonumber(ARGV[2])
local now = nowMicroseconds()
local nowMs = math.floor(now / 1000)
local AHEAD_MICROSECONDS = 1000000

local function sweep(begin, position)
  local state = readState(begin)
  local isHeld = isLeased(state, nowMs)
  if position and position < state.applied and not isHeld then rewind(begin, state, position) end
  trimApplied(begin, state, nowMs, redoMs)
  local isWaiting = state.applied < state.number
  noteEntries(begin, isWaiting or redis.call('XLEN', begin .. 'log') > 0)
  if isHeld or not isWaiting then return 0 end
  local age = now - (state.oldest or 0)
  -- A number can be slightly ahead of the clock. Further ahead, it was given before the clock went
  -- back.
  if age < waitMicroseconds and age > -AHEAD_MICROSECONDS then return 0 end
  return isDeep(state) and 2 or 1
end

local answers = {}
for at = 3, #ARGV, 2 do answers[#answers + 1] = sweep(ARGV[at], tonumber(ARGV[at + 1])) end
return answers
