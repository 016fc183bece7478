import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { type FaultStack, startFaultStack } from '../support/fault-stack.ts'
import { spawnProgram } from '../support/service-process.ts'

const PROGRAMS = ['api/main.ts', 'worker/main.ts']

describe('a process that cannot do its work ends with a reason:', () => {
  let stack: FaultStack
  before(async () => {
    stack = await startFaultStack()
  })
  after(() => stack?.stop())

  /**
   * The process ends with a code other than 0, so that its supervisor starts it again, and prints
   * the reason.
   */
  const assertEnds = async (program: string, given: Record<string, string>, why: RegExp): Promise<void> => {
    const child = spawnProgram(program, [], { ...stack.environment, PORT: '0', ...given })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const [code] = (await once(child, 'close', { signal: AbortSignal.timeout(20_000) }).finally(() =>
      child.kill('SIGKILL'),
    )) as [number | null]
    assert.equal(code, 1, output)
    assert.match(output, why)
  }

  for (const program of PROGRAMS) {
    it(`${program} with a Redis that would evict queued submissions`, async () => {
      await stack.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
      try {
        await assertEnds(program, {}, /maxmemory-policy allkeys-lru/)
      } finally {
        await stack.redis.config('SET', 'maxmemory-policy', 'noeviction')
      }
    })

    it(`${program} with a database that is not migrated`, async () => {
      await stack.sql`create schema if not exists empty`
      await assertEnds(program, { DATABASE_SCHEMA: 'empty' }, /has not been migrated/)
    })

    it(`${program} with another HASH_KEY`, async () => {
      await assertEnds(program, { HASH_KEY: randomBytes(32).toString('hex') }, /HASH_KEY is not the one/)
    })

    it(`${program} with a malformed setting`, async () => {
      await assertEnds(program, { DATABASE_CONNECTIONS: 'many' }, /DATABASE_CONNECTIONS/)
    })
  }
})
