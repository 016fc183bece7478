-- Renews or releases the leases of a worker.
-- KEYS state never (a key that never exists; keys.ts says why), of the first workspace.
-- ARGV 1: worker; 2: length of a lease in ms, or 0 to release; then for each workspace how its keys
-- begin. Returns for each 1 if the worker held the lease, else 0.
local untilMs = math.floor(nowMicroseconds() / 1000) + ARGV[2]
local answers = {}
for at = 3, #ARGV do
  local key = ARGV[at] .. 'state'
  local isHeld = redis.call('HGET', key, 'holder') == ARGV[1]
  if isHeld and ARGV[2] == '0' then redis.call('HDEL', key, 'holder', 'until', 'quarantine')
  elseif isHeld then redis.call('HSET', key, 'until', untilMs) end
  answers[#answers + 1] = isHeld and 1 or 0
end
return answers
