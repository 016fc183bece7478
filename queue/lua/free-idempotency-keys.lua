-- Frees the idempotency keys of submissions that concern an identity key and were accepted before a number.
-- KEYS concerned. ARGV how the names of idempotency records begin, number.
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])) do
  local number = string.match(redis.call('GET', ARGV[1] .. key) or '', '^[^:]*:[^:]*:([^:]*):')
  if number and tonumber(number) < tonumber(ARGV[2]) then redis.call('DEL', ARGV[1] .. key) end
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])
return 0
