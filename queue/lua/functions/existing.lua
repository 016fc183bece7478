-- Own ids exist from the first queued submission that makes a record or a project exist. An external id belongs to the last queued
-- submission that makes it exist, since a bare identify that is stored earlier may have gone to another key.
local function makeExist(exists, id, of, number)
  local set = (of == 'record' or of == 'project') and 'HSETNX' or 'HSET'
  redis.call(set, exists, id, number .. ':' .. of)
end
