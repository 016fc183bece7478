-- KEYS and ARGV are `keys` and `args` of functions/settle.lua.
settle(KEYS, ARGV, 1)
return 0
