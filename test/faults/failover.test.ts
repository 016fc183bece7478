import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Sql } from '../../db/postgres.ts'
import { freeze } from '../support/kept-process.ts'
import { outlive } from '../support/outlive.ts'
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Far more than the time between the last commit that the standby got and its promotion, on a busy machine as well. */
const REDO_SECONDS = '300'
const WITHIN_MS = 120_000
const MISSED = 100

/** What happens to the primary before its standby is promoted, and how the former primary comes back. */
const STRIKES: Readonly<Record<string, (pair: PostgresPair) => Promise<() => Promise<void>>>> = {
  'is killed': async (pair) => {
    await pair.killPrimary()
    return pair.bringBack
  },
  hangs: (pair) => {
    const goOn = freeze({ pid: () => pair.primaryPid })
    return Promise.resolve(() => Promise.resolve(goOn()))
  },
  'takes no more writes': async ({ atFormer }) => {
    await atFormer`alter system set default_transaction_read_only = on`
    await atFormer`select pg_reload_conf()`
    return async () => {
      await atFormer`alter system reset default_transaction_read_only`
      await atFormer`select pg_reload_conf()`
    }
  },
}

const withRig = async (
  isSynchronous: boolean,
  work: (pair: PostgresPair, service: Service) => Promise<void>,
): Promise<void> => {
  await using running = new AsyncDisposableStack()
  const pair = await startPostgresPair({ isSynchronous })
  running.defer(pair.stop)
  const environment = { CONVERSATIONS_PER_MINUTE: '1000000', REDO_SECONDS }
  const service = await startService({ workers: 2, databaseUrl: pair.url, environment })
  running.defer(service.stop)
  // Generated tags depend on the order of texts.
  await service.queues.tagging.pause()
  await work(pair, service)
}

/** The submissions that a server has. */
const storedAt = async (sql: Sql, { redisPrefix }: Service): Promise<Set<string>> => {
  const rows = await sql<{ id: string }[]>`select id from ${sql(redisPrefix)}.submission`
  return new Set(rows.map(({ id }) => id))
}
const holdsMore = (sql: Sql, service: Service, than: number) =>
  until('more is stored', async () => (await storedAt(sql, service).catch(() => new Set())).size > than, WITHIN_MS)

/** Promotes the standby, and waits until workers store there. */
const promote = async (pair: PostgresPair, service: Service): Promise<void> => {
  const { size } = await storedAt(pair.atStandby, service)
  await pair.promote()
  await holdsMore(pair.atStandby, service, size)
}

const assertChangeLogged = async ({ atStandby }: PostgresPair, { output, apiPids, workerPids }: Service) => {
  const [standby] = await atStandby<[{ port: number }]>`select inet_server_port() as port`
  const lines = output().split('\n')
  const changes = lines.filter((line) => line.includes('"postgres-primary-changed"'))
  assert.equal(changes.length, apiPids.length + workerPids.length, 'each process says it once')
  for (const line of changes)
    assert.match((JSON.parse(line) as { server: string }).server, new RegExp(`:${standby.port}$`))
}

/** What is submitted after the former primary is back is stored at the new one alone, with higher numbers. */
const assertFormerIsLeftAlone = async (pair: PostgresPair, service: Service): Promise<void> => {
  const answer = await service.submit('/feedbacks', { description: 'after all' })
  const id = answer.headers.get('Submission-Id')!
  assert.equal((await storedAt(pair.atFormer, service)).has(id), false)
  const [row] = await service.sql<[{ number: string; highest: string }]>`
    select (select acceptance_number from submission where id = ${id}) as number,
      (select max(acceptance_number) from submission) as highest`
  assert.equal(row.number, row.highest)
}

describe('a primary of Postgres with a synchronous standby', () => {
  for (const [how, strike] of Object.entries(STRIKES)) {
    it(`that ${how}: what is confirmed around the promotion is stored as the model has it`, () =>
      withRig(true, async (pair, service) => {
        const confirmed = await outlive(service, {
          strike: async () => {
            await holdsMore(pair.atStandby, service, 0)
            const bringBack = await strike(pair)
            await promote(pair, service)
            await bringBack()
          },
        })
        await assertChangeLogged(pair, service)
        await assertFormerIsLeftAlone(pair, service)
        const [used] = await service.sql<[{ attempts: number }]>`select max(attempts) as attempts from submission`
        assert.equal(used.attempts, 1, 'a primary that is away or takes no writes is no attempt that failed')
        console.log(`primary ${how}: ${confirmed.size} confirmed`)
      }))
  }
})

describe('a primary of Postgres with an asynchronous standby', () => {
  // A finished purge has taken out of the log what was accepted before it: docs/operate.md says so.
  it('that dies with commits that the standby lacks: they are applied again from the log, and nothing is lost', () =>
    withRig(false, async (pair, service) => {
      let missed = 0
      const confirmed = await outlive(service, {
        purges: false,
        strike: async () => {
          await holdsMore(pair.atStandby, service, 10)
          await pair.part()
          const { size } = await storedAt(pair.atFormer, service)
          await holdsMore(pair.atFormer, service, size + MISSED)
          await pair.killPrimary()
          const atStandby = await storedAt(pair.atStandby, service)
          await promote(pair, service)
          await pair.bringBack()
          missed = [...(await storedAt(pair.atFormer, service))].filter((id) => !atStandby.has(id)).length
        },
      })
      assert.ok(missed >= MISSED, `the standby lacked ${missed}`)
      await assertFormerIsLeftAlone(pair, service)
      console.log(`${confirmed.size} confirmed; the standby had missed ${missed}, which were applied again`)
    }))
})
