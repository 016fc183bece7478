-- Takes back what the submission with this number made exist.
local function forgetNewIds(exists, number)
  local fields = redis.call('HGETALL', exists)
  for i = 1, #fields, 2 do
    if string.match(fields[i + 1], '^%d+') == number then redis.call('HDEL', exists, fields[i]) end
  end
end
