import assert from 'node:assert/strict'
import type { Sql } from '../../db/connection/postgres.ts'
import { readLedgers } from './ledgers.ts'
import type { Asked as AskedByLoad, Seen } from './load.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

/** Generous, since it only ends a hanging test. */
export const RECOVERED_WITHIN_MS = 240_000
const PROBE_TIMEOUT_MS = 15_000

type Asked = AskedByLoad & Pick<Service, 'sql'>

/** The parts of a service for `recovery` and `startLoad`. */
export const askedOf = <S extends Pick<Service, 'urls' | 'redisPrefix'>>(service: S) => ({
  ...service,
  url: service.urls[0]!,
  prefix: service.redisPrefix,
})

/**
 * Milliseconds since `startedAt` until a new submission is accepted and applied, and all accepted
 * submissions are settled.
 */
export const recovery = async (stack: Asked, seen: Seen, startedAt = performance.now()): Promise<number> => {
  await until('a new submission is applied', () => isApplied(stack, seen), RECOVERED_WITHIN_MS)
  await until(
    'all accepted submissions are settled',
    async () => (await unsettled(stack, seen).catch(() => undefined)) === 0,
    RECOVERED_WITHIN_MS,
  )
  return performance.now() - startedAt
}

const isApplied = async ({ url, accessToken }: Asked, seen: Seen): Promise<boolean> => {
  try {
    const answer = await fetch(`${url}/api/v1/feedbacks`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${accessToken}`, Prefer: 'wait=10' },
      body: JSON.stringify({ description: 'probe' }),
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    })
    await answer.arrayBuffer()
    if (answer.status !== 201) return false
    seen.accepted.set(answer.headers.get('Submission-Id')!, 'probe')
    return answer.headers.get('Submission-State') === 'applied'
  } catch {
    return false
  }
}

const unsettled = async ({ sql }: Asked, { accepted }: Seen): Promise<number> => {
  const ids = [...accepted.keys()]
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n from unnest(${ids}::uuid[]) as a (id)
    where not exists (select from submission as s where s.id = a.id and s.state <> 'queued')`
  return row.n
}

/** The number of accepted submissions that are not stored, and of texts that are stored twice. */
export const damage = async (sql: Sql, { accepted }: Seen): Promise<{ lost: number; doubled: number }> => {
  const [row] = await sql<[{ lost: number; doubled: number }]>`
    select
      (
        select count(*)::int from unnest(${[...accepted.keys()]}::uuid[]) as a (id)
        where not exists (select from submission as s where s.id = a.id and s.state in ('applied', 'superseded'))
      ) as lost,
      (
        select count(*)::int from (
          select description from feedback where description <> 'probe' group by description having count(*) > 1
          union all
          select content from message group by content having count(*) > 1
        ) as twice
      ) as doubled`
  return row
}

/**
 * Checks that no accepted submission is lost, stored twice or dead, and that the ledger is exact.
 * Call it when no client submits. `unconfirmed`: the most applied submissions that are not counted
 * in the Redis that took over, since a replica lacked them.
 */
export const assertNothingLost = async (
  stack: Pick<Service, 'sql' | 'redis'> & { prefix: string },
  seen: Seen,
  unconfirmed = 0,
): Promise<void> => {
  const { sql, redis, prefix } = stack
  assert.deepEqual(await damage(sql, seen), { lost: 0, doubled: 0 })
  let last: object = {}
  await until(
    'the ledger is exact',
    async () => {
      const [ledger] = await readLedgers(sql, redis, prefix)
      last = ledger!
      const { queued, dead, difference } = ledger!
      return queued === 0 && dead === 0 && difference <= 0 && difference >= -unconfirmed
    },
    RECOVERED_WITHIN_MS,
  ).catch((error: unknown) => {
    throw new Error(`The ledger: ${JSON.stringify(last)}`, { cause: error })
  })
}

/** Checks that every request had a documented answer. */
export const assertWellAnswered = ({ late, wrong }: Seen): void => {
  assert.deepEqual({ late, wrong: wrong.slice(0, 5) }, { late: 0, wrong: [] })
}
