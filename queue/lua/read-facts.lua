-- What queued submissions say about keys. KEYS exists facts never. ARGV how the names of facts begin, then key ids.
-- Returns for each key its value of exists, or an empty text, and its sayings with their spans.
local answers = {}
for at = 2, #ARGV do
  answers[#answers + 1] = {redis.call('HGET', KEYS[1], ARGV[at]) or '', saidAbout(KEYS[2], ARGV[1], ARGV[at])}
end
return answers
