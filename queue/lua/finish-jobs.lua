-- KEYS active stalled completed. ARGV prefix now token keptOfOneCall keptCount keptSeconds, then id, result and attempts of each job.
return finishJobs(KEYS[1], KEYS[2], KEYS[3], {unpack(ARGV, 1, 6)}, ARGV, 7, #ARGV, 3)
