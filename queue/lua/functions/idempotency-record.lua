-- Reads a record of the idempotency book: 9 characters of a body's hash, a compact submission id,
-- and a number in hexadecimal digits.
local function readRecord(record)
  return string.sub(record, 1, 9), string.sub(record, 10, 31), tonumber(string.sub(record, 32), 16)
end
