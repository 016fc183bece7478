import process from 'node:process'

/** The settings of the plain variants. */
export type PlainConfig = { databaseUrl: string; schema: string; redisUrl: string; prefix: string; token: string }

export const PLAIN_QUEUE = 'plain'

/** @throws when a variable is missing. */
export const readPlainConfig = (): PlainConfig => {
  const required = (name: string): string => {
    const value = process.env[name]
    if (!value) throw new Error(`${name} is missing`)
    return value
  }
  return {
    databaseUrl: required('DATABASE_URL'),
    schema: required('DATABASE_SCHEMA'),
    redisUrl: required('REDIS_URL'),
    prefix: required('REDIS_PREFIX'),
    token: required('TOKEN'),
  }
}
