-- What queued submissions say about keys. KEYS exists facts purges never. ARGV how the names of facts begin, `whole` or `most`, then key ids.
-- Returns for each key its value of exists, or an empty text, and its sayings with their spans.
local answers = {}
local whole = ARGV[2] == 'whole' or redis.call('EXISTS', KEYS[3]) == 1
for at = 3, #ARGV do
  answers[#answers + 1] = {redis.call('HGET', KEYS[1], ARGV[at]) or '', saidAbout(KEYS[2], ARGV[1], ARGV[at], whole)}
end
return answers
