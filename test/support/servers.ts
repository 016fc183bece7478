import process from 'node:process'

type TestServers = { readonly databaseUrl: string; readonly redisUrl: string }

/**
 * The servers that `npm test` has started. Throws without them, since a skipped test would look
 * like a passed one.
 */
export const testServers = (): TestServers => ({
  databaseUrl: required('TEST_DATABASE_URL'),
  redisUrl: required('TEST_REDIS_URL'),
})

const required = (name: string): string => {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set: run npm test, which starts the servers`)
  return value
}
