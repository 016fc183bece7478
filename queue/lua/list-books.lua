-- Lists the idempotency books of a group of workspaces. A workspace without a book leaves the set.
-- KEYS with-book never (a key that never exists; keys.ts says why). ARGV 1: how the keys of the group
-- begin. Returns for each book the workspace, and how many keys the book has.
local answers = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local keys = redis.call('HLEN', ARGV[1] .. id .. ':idempotency')
  if keys == 0 then
    redis.call('SREM', KEYS[1], id)
  else
    answers[#answers + 1], answers[#answers + 2] = id, keys
  end
end
return answers
