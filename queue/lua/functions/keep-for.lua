-- Keeps a key for so many seconds at least, and an hour more, so that it has to be said again once an hour: EXPIRE is written to the
-- append-only file, and asking is not.
local function keepFor(key, seconds)
  if redis.call('TTL', key) < seconds then redis.call('EXPIRE', key, seconds + 3600) end
end
