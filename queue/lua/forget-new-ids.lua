-- Takes back what a submission made exist. KEYS exists. ARGV number.
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.match(fields[i + 1], '^%d+') == ARGV[1] then redis.call('HDEL', KEYS[1], fields[i]) end
end
return 0
