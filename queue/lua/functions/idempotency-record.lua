-- The number in a record of the idempotency book: 9 characters of a body's hash, a compact
-- submission id, and the number in hexadecimal digits.
local function numberOf(record) return tonumber(string.sub(record, 32), 16) end
