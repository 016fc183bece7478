-- KEYS exists. ARGV number.
forgetNewIds(KEYS[1], ARGV[1])
return 0
