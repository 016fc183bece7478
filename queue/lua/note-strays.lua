-- Notes the workspaces with entries, and the sizes of idempotency books, that the keys of a group have
-- lost.
-- KEYS never (a key that never exists; keys.ts says why), of the group. ARGV 1: how the keys of the
-- group begin; then workspaces of the group.
for at = 2, #ARGV do
  local begin = ARGV[1] .. ARGV[at] .. ':'
  if redis.call('XLEN', begin .. 'log') > 0 then noteEntries(begin, true) end
  local keys = redis.call('HLEN', begin .. 'idempotency')
  if keys > 0 then redis.call('HSETNX', ARGV[1] .. 'books', ARGV[at], keys) end
end
return 0
