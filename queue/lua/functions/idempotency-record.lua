-- Reads a record of the book of idempotency keys: nine characters of a body, a submission in 22, and its number in hexadecimal digits.
local function readRecord(record)
  return string.sub(record, 1, 9), string.sub(record, 10, 31), tonumber(string.sub(record, 32), 16)
end
