-- Hands jobs to a worker. Answers false when the queue is paused or has a limit, or when prioritized jobs wait or delayed ones are due.
-- A worker's client sends a command again when its answer was lost with the connection. So the script keeps under `handed` which jobs it
-- has handed over, and hands them over once more when the same command comes again.
-- KEYS wait active prioritized delayed meta marker handed. ARGV prefix now token lockMs wanted mostBytes options.
-- Returns the jobs, when the first delayed job is due (or 0), and 1 if no more are waiting. A job is id, name, data and timestamp, and all
-- its fields unless it is as add-jobs.lua left it, which is less work for both sides.
local call, prefix, now, token, lockMs = redis.call, ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local jobs, bytes = {}, 0
local function handOver(id)
  local key = prefix .. id
  call('SET', key .. ':lock', token, 'PX', lockMs)
  call('HSET', key, 'processedOn', now)
  local known = call('HMGET', key, 'name', 'data', 'timestamp', 'opts')
  local isPlain = known[4] == ARGV[7] and call('HLEN', key) == 5
  jobs[#jobs + 1] = {id, known[1], known[2], known[3], not isPlain and call('HGETALL', key) or nil}
  bytes = bytes + #id + #(known[2] or '')
end
local before = call('LRANGE', KEYS[7], 0, -1)
if #before > 0 then
  for _, id in ipairs(before) do
    if call('GET', prefix .. id .. ':lock') == token then handOver(id) end
  end
  return {jobs, 0, 0}
end
local meta = call('HMGET', KEYS[5], 'paused', 'concurrency', 'max')
local delayed = tonumber(call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or 0) / 4096
if meta[1] or meta[2] or meta[3] or (delayed > 0 and delayed <= tonumber(now)) or call('EXISTS', KEYS[3]) == 1 then
  return false
end
local wanted = tonumber(ARGV[5])
local waiting = call('LRANGE', KEYS[1], -wanted, -1)
local ids = {}
for i = #waiting, 1, -1 do
  if bytes >= tonumber(ARGV[6]) then break end
  handOver(waiting[i])
  ids[#ids + 1] = waiting[i]
end
if #ids == 0 then return {jobs, delayed, 1} end
call('LTRIM', KEYS[1], 0, -1 - #ids)
call('LPUSH', KEYS[2], unpack(ids))
call('RPUSH', KEYS[7], unpack(ids))
call('PEXPIRE', KEYS[7], lockMs)
local isEmpty = #ids < wanted and #ids == #waiting and 1 or 0
if isEmpty == 0 and call('EXISTS', KEYS[1]) == 1 then call('ZADD', KEYS[6], 0, '0') end
return {jobs, delayed, isEmpty}
