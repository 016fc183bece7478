-- A batch, with what decides when it may be stored. KEYS batch purges outstanding.
-- Returns the batch, or nothing when it is gone; the number of the first undecided purge, or an empty text; and how many batches are
-- outstanding.
local text = redis.call('GET', KEYS[1])
if not text then return {} end
return {text, redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or '', redis.call('ZCARD', KEYS[3])}
