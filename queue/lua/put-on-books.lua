-- Puts one submission that has its number already on the books, as a batch of its own. Doing it again changes nothing.
-- KEYS outstanding exists purges ledger facts outbox batch removing
-- ARGV how the names of facts begin, batch, number, the batch, 1 if it is a purge, else 0, milliseconds, #exists, (id of)…, (key saying)…
local call = redis.call
local ofFacts, batch, number, value, isPurge, ms = unpack(ARGV, 1, 6)
if not call('SET', KEYS[7], value, 'NX') then return 0 end
call('HINCRBY', KEYS[4], 'queued', 1)
call('HINCRBY', KEYS[4], 'bytes', #value)
call('ZADD', KEYS[6], ms, batch)
-- A decided purge is not outstanding: only its records are still there.
if call('ZSCORE', KEYS[8], batch) then return 1 end
call('ZADD', KEYS[1], number, batch)
local after = tonumber(call('ZREVRANGEBYSCORE', KEYS[3], '(' .. number, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or '0')
local before = tonumber(call('ZRANGEBYSCORE', KEYS[3], '(' .. number, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or math.huge)
local said = 7 + 2 * ARGV[7]
for at = 8, said, 2 do
  -- What also a later queued submission made exist stays with the later one.
  if call('HEXISTS', KEYS[2], ARGV[at]) == 0 then makeExist(KEYS[2], ARGV[at], ARGV[at + 1], number) end
end
local sayings = {}
for at = said + 1, #ARGV do sayings[#sayings + 1] = ARGV[at] end
sayAll(KEYS[5], ofFacts, sayings, number, after, before)
if isPurge == '1' then call('ZADD', KEYS[3], number, batch) end
return 1
