-- Takes submissions off the books and finishes their jobs. The books come first: in a Redis that is full, only a script that has written
-- already may write more.
-- KEYS those of functions/settle.lua, then active stalled completed. ARGV prefix now token keptOfOneCall keptCount keptSeconds, how begins
-- what is left of a body, #jobs, id, result, attempts and number of each job; then the `args` of functions/settle.lua.
local last = 8 + 4 * ARGV[8]
settle(KEYS, ARGV, last + 1)
local function leftOf(at) return bodyLeft(ARGV[7], ARGV[at + 3], ARGV[at]) end
return finishJobs(KEYS[5], KEYS[6], KEYS[7], {unpack(ARGV, 1, 6)}, ARGV, 9, last, 4, leftOf)
