-- Takes settled submissions of one workspace off the books. `keys` are outstanding exists purges removing. `args` has from place `from`
-- on: how the names of the said keys begin (all are in one slot), #submissions submission…, 1 if purges are among them, else 0,
-- #exists (value id)…, then (key number)… of what was said.
local function settle(keys, args, from)
  local ofSaid, last = args[from], from + 1 + args[from + 1]
  redis.call('ZREM', keys[1], unpack(args, from + 2, last))
  if args[last + 1] == '1' then
    redis.call('ZREM', keys[3], unpack(args, from + 2, last))
    redis.call('ZREM', keys[4], unpack(args, from + 2, last))
  end
  local said = last + 3 + 2 * args[last + 2]
  for at = last + 3, said - 1, 2 do
    if redis.call('HGET', keys[2], args[at + 1]) == args[at] then redis.call('HDEL', keys[2], args[at + 1]) end
  end
  for at = said, #args, 2 do redis.call('HDEL', ofSaid .. args[at], args[at + 1]) end
end
