import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Sql } from '../../db/postgres.ts'
import { runCommand } from '../support/command.ts'
import { freeze } from '../support/fault-stack.ts'
import { readLedgers } from '../support/ledgers.ts'
import { nothingSeen, startLoad } from '../support/load.ts'
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts'
import { assertNothingLost, assertWellAnswered, damage, recovery } from '../support/recovery.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** From the end of the promotion on. */
const GOES_ON_WITHIN_MS = 10_000

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

const rig = async (isSynchronous: boolean) => {
  const running = new AsyncDisposableStack()
  const pair = await startPostgresPair({ isSynchronous })
  running.defer(pair.stop)
  try {
    const service = await startService({
      workers: 2,
      databaseUrl: pair.url,
      environment: { CONVERSATIONS_PER_MINUTE: '1000000' },
    })
    running.defer(service.stop)
    return { pair, service, asked: askedOf(service), stop: () => running.disposeAsync() }
  } catch (error) {
    await running.disposeAsync()
    throw error
  }
}
const askedOf = ({ urls, accessToken, sql, redis, redisPrefix }: Service) => ({
  url: urls[0]!,
  accessToken,
  sql,
  redis,
  prefix: redisPrefix,
})

/** The submissions that a server has. */
const storedAt = async (sql: Sql, { redisPrefix }: Service): Promise<Set<string>> => {
  const rows = await sql<{ id: string }[]>`select id from ${sql(redisPrefix)}.submission`
  return new Set(rows.map(({ id }) => id))
}
const holdsMore = (sql: Sql, service: Service, than: number) =>
  until('more is stored', async () => (await storedAt(sql, service).catch(() => new Set())).size > than)
const isReady = ({ urls }: Service) =>
  until('the API reaches Postgres', async () => {
    const answer = await fetch(`${urls[0]}/readyz`)
    await answer.arrayBuffer()
    return answer.status === 200
  })

/**
 * Lets the primary write and not say so, as in the moment before it dies: no worker settles what it does not hear of. Where something else
 * than a submission waits first, that has the workspace's lock, and is let go.
 */
const silenceWhatIsStored = ({ atFormer }: PostgresPair) =>
  until('a worker does not hear of what it stored', async () => {
    const standbys = async (names: string) => {
      await atFormer.unsafe(`alter system set synchronous_standby_names = '${names}'`)
      await atFormer`select pg_reload_conf()`
    }
    await standbys('*')
    let waiting: readonly { isStoring: boolean }[] = []
    await until('commits are not answered', async () => {
      waiting = await atFormer<{ isStoring: boolean }[]>`
        select query ~ 'from store(_free)?\\(' as "isStoring" from pg_stat_activity where wait_event = 'SyncRep'`
      return waiting.length > 0
    })
    if (waiting.some(({ isStoring }) => isStoring)) return true
    await standbys('')
    return false
  })

/** Promotes the standby, and tells after how many milliseconds workers store there and the API reaches it. */
const promote = async (pair: PostgresPair, service: Service): Promise<number> => {
  const { size } = await storedAt(pair.atStandby, service)
  await pair.promote()
  const promotedAt = performance.now()
  await holdsMore(pair.atStandby, service, size)
  await isReady(service)
  const ms = performance.now() - promotedAt
  assert.ok(ms < GOES_ON_WITHIN_MS, `goes on after ${Math.round(ms)} ms`)
  return ms
}

const assertChangeLogged = async ({ atStandby }: PostgresPair, { output, apiPids, workerPids }: Service) => {
  const [standby] = await atStandby<[{ port: number }]>`select inet_server_port() as port`
  const lines = output().split('\n')
  const changes = lines.filter((line) => line.includes('"postgres-primary-changed"'))
  assert.equal(changes.length, apiPids.length + workerPids.length, 'each process says it once')
  for (const line of changes)
    assert.match((JSON.parse(line) as { server: string }).server, new RegExp(`:${standby.port}$`))
}

const assertNumbersGrow = async ({ sql }: Service, before: readonly string[], after: readonly string[]) => {
  const [row] = await sql<[{ grow: boolean }]>`
    select (select max(acceptance_number) from submission where id = any (${before}::uuid[]))
      < (select min(acceptance_number) from submission where id = any (${after}::uuid[])) as grow`
  assert.ok(row.grow, 'acceptance numbers went back')
}

describe('a primary of Postgres with a synchronous standby', () => {
  for (const [how, strike] of Object.entries(STRIKES)) {
    it(`that ${how} under load: all go on with the standby once it is promoted, and everything is stored once`, async () => {
      const { pair, service, asked, stop } = await rig(true)
      try {
        const load = startLoad(asked)
        const accepted = () => [...load.seen.accepted.keys()]
        const more = (than: number) => until('more is accepted', () => Promise.resolve(accepted().length > than + 50))
        await holdsMore(pair.atFormer, service, 50)
        const before = accepted()
        const bringBack = await strike(pair)
        await more(before.length)
        const ms = await promote(pair, service)
        const beforeReturn = accepted().length
        await bringBack()
        await more(beforeReturn + 100)
        const afterReturn = accepted().slice(beforeReturn)
        await load.stop()
        const recoveredMs = await recovery(asked, load.seen)
        await assertNothingLost(asked, load.seen)
        const [used] = await asked.sql<[{ attempts: number }]>`select max(attempts) as attempts from submission`
        assert.equal(used.attempts, 1, 'a primary that is away or takes no writes is no attempt that failed')
        await assertChangeLogged(pair, service)
        assertWellAnswered(load.seen)
        assert.equal(load.seen.refused + load.seen.unknown, 0)
        const atFormer = await storedAt(pair.atFormer, service)
        assert.deepEqual(
          afterReturn.filter((id) => atFormer.has(id)),
          [],
          'written to the former primary',
        )
        await assertNumbersGrow(service, before, afterReturn)
        console.log(
          `primary ${how}: ${accepted().length} confirmed, 0 lost, 0 doubled; goes on ${Math.round(ms)} ms after the promotion, ` +
            `all stored ${Math.round(recoveredMs)} ms after the last`,
        )
      } finally {
        await stop()
      }
    })
  }
})

describe('a primary of Postgres with an asynchronous standby that is behind', () => {
  it('that is killed: what the standby has not is stored again where Redis has it; the doctor counts the rest', async () => {
    const { pair, service, asked, stop } = await rig(false)
    try {
      const load = startLoad(asked)
      await holdsMore(pair.atStandby, service, 50)
      await pair.part()
      const { size } = await storedAt(pair.atFormer, service)
      await holdsMore(pair.atFormer, service, size + 100)
      const before = [...load.seen.accepted.keys()]
      await silenceWhatIsStored(pair)
      await pair.killPrimary()
      const atStandby = await storedAt(pair.atStandby, service)
      const ms = await promote(pair, service)
      const afterPromotion = load.seen.accepted.size + 10
      await until('more is accepted', () => Promise.resolve(load.seen.accepted.size > afterPromotion + 100))
      const after = [...load.seen.accepted.keys()].slice(afterPromotion)
      await load.stop()
      assertWellAnswered(load.seen)
      assert.equal(load.seen.refused + load.seen.unknown, 0)
      await recovery(asked, nothingSeen())
      const ledger = async () => (await readLedgers(asked.sql, asked.redis, asked.prefix))[0]!
      await until('all that Redis has is stored', async () => (await ledger()).queued === 0)

      await pair.bringBack()
      const [atFormer, stored] = [await storedAt(pair.atFormer, service), await storedAt(pair.atStandby, service)]
      const missed = [...atFormer].filter((id) => !atStandby.has(id))
      const lost = [...load.seen.accepted.keys()].filter((id) => !stored.has(id))
      assert.ok(lost.length > 0, 'the standby was behind')
      assert.ok(lost.length < missed.length, 'Redis had some of it')
      assert.deepEqual(
        lost.filter((id) => !missed.includes(id)),
        [],
        'only what was stored at the former primary alone is lost',
      )
      assert.deepEqual(
        after.filter((id) => atFormer.has(id)),
        [],
        'written to the former primary',
      )
      await assertNumbersGrow(service, before, after)
      assert.deepEqual(await damage(asked.sql, load.seen), { lost: lost.length, doubled: 0 })
      const { difference, dead } = await ledger()
      assert.deepEqual({ difference, dead }, { difference: lost.length, dead: 0 })
      const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
      assert.match(stdout, new RegExp(`missing from the books: default ${lost.length}\\.`))
      console.log(
        `${load.seen.accepted.size} confirmed; the standby had missed ${missed.length}: ${missed.length - lost.length} stored again, ` +
          `${lost.length} lost; 0 doubled; goes on ${Math.round(ms)} ms after the promotion`,
      )
    } finally {
      await stop()
    }
  })
})
