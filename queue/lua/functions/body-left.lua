-- What is left of the body of a job. `leftBegins` in job-queues.ts makes its beginning.
local function bodyLeft(begins, number, id)
  return begins .. ',"number":' .. number .. ',"submissionId":"' .. id .. '"}'
end
