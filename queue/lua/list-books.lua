-- Lists the idempotency books of a group of workspaces. A workspace without a book leaves the set.
-- KEYS books never (a key that never exists; keys.ts says why). ARGV 1: how the keys of the group
-- begin. Returns for each book the workspace, how many keys the book has, and the number up to which
-- the oldest ones were admitted.
local call = redis.call
local answers = {}
for _, id in ipairs(call('SMEMBERS', KEYS[1])) do
  local begin = ARGV[1] .. id .. ':'
  local keys = call('HLEN', begin .. 'idempotency')
  if keys == 0 then
    call('SREM', KEYS[1], id)
  else
    local oldest = call('LINDEX', begin .. 'key-order', 0)
    answers[#answers + 1] = {id, keys, oldest and string.match(oldest, '^%d+') or '0'}
  end
end
return answers
