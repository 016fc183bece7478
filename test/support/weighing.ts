import assert from 'node:assert/strict'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import type { AttackReport, Attackers } from './attackers.ts'
import type { Waits } from './bystander.ts'
import { readLedgers } from './ledgers.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

export const DRAINED_WITHIN_MS = process.env['TEST_SIZE'] === 'long' ? 30 * 60_000 : 180_000
/**
 * The longest wait of another workspace, as a share of the time that the heavy work took. A machine that is busy stretches both. Work
 * that took a few seconds says nothing about shares.
 */
const MOST_OF_TIME = { applied: 1 / 2, purged: 1 / 2 }
const SHORT_MS = { applied: 2_000, purged: 5_000 }
const PURGED_FEEDBACK = 20

/** A contact of the bystander with some feedback; returns the email. */
export const makeLeaver = async ({ submit }: Service): Promise<string> => {
  const email = 'leaver@example.com'
  await submit('/contacts/identify', { id: 'leaver', properties: { $email: email } })
  await Promise.all(
    Array.from({ length: PURGED_FEEDBACK }, (_, at) =>
      submit('/feedbacks', { description: `Leaves ${at}`, tags: [], contact: { email } }),
    ),
  )
  return email
}

/** The milliseconds until a purge is through; undefined when that takes too long. A client comes again when it is told to. */
export const purge = async ({ post, adminToken, sql }: Service, email: string): Promise<number | undefined> => {
  const startedAt = performance.now()
  const accept = async (): Promise<boolean> => {
    const answer = await post('/contacts/purge', { email }, { token: adminToken })
    if (answer.status === 503) await pause(Number(answer.headers.get('Retry-After')) * 1_000)
    else assert.equal(answer.status, 200, answer.text)
    return answer.status === 200
  }
  const isThrough = async (): Promise<boolean> => {
    const purges = await sql`select from submission where operation = 'purge_contact' and state = 'applied'`
    return purges.count > 0
  }
  const through = until('a purge is accepted', accept, DRAINED_WITHIN_MS)
    .then(() => until('a purge is through', isThrough, DRAINED_WITHIN_MS))
    .then(() => Math.round(performance.now() - startedAt))
  const ms = await through.catch((error: unknown) => {
    if (error instanceof assert.AssertionError && error.message.startsWith('still waiting')) return undefined
    throw error
  })
  const left = await sql`select from feedback where description like 'Leaves %'`
  assert.ok(ms === undefined || left.count === 0, 'feedback of a purged contact')
  return ms
}

export const ledgersOf = async (
  { sql, redis, redisPrefix }: Service,
  { workspaceIds }: Pick<Attackers, 'workspaceIds'>,
) => (await readLedgers(sql, redis, redisPrefix)).filter(({ workspaceId }) => workspaceIds.includes(workspaceId))

/** Milliseconds until everything that they sent is settled; undefined when that takes too long. */
export const untilDrained = async (
  service: Service,
  attackers: Pick<Attackers, 'workspaceIds'>,
): Promise<number | undefined> => {
  const startedAt = performance.now()
  const isDrained = async () => (await ledgersOf(service, attackers)).every(({ queued }) => queued === 0)
  return until('all is settled', isDrained, DRAINED_WITHIN_MS).then(
    () => Math.round(performance.now() - startedAt),
    () => undefined,
  )
}

type End = { reports: readonly AttackReport[]; drained: number | undefined }

export const whatIsWrong = ({ slowest, failed }: Waits, tookMs = 0): string[] => [
  ...(slowest <= Math.max(SHORT_MS.applied, MOST_OF_TIME.applied * tookMs)
    ? []
    : [`a feedback of the bystander waited for ${slowest} of ${Math.round(tookMs)} ms`]),
  ...new Set(failed.map((one) => `a feedback of the bystander: ${one}`)),
]

export const whatIsSlow = (purgedMs: number | undefined, tookMs: number): string[] =>
  (purgedMs ?? Infinity) <= Math.max(SHORT_MS.purged, MOST_OF_TIME.purged * tookMs)
    ? []
    : [`a purge of the bystander took ${purgedMs ?? 'all too many'} of ${Math.round(tookMs)} ms`]

/** What the attackers were told is accepted has to be applied, however long that takes. */
export const endsBadly = async (
  service: Service,
  attackers: Pick<Attackers, 'workspaceIds'>,
  { reports, drained }: End,
): Promise<string[]> => {
  const ledgers = await ledgersOf(service, attackers)
  const accepted = ledgers.reduce((sum, one) => sum + one.accepted, 0)
  const reported = reports.reduce((sum, one) => sum + one.accepted, 0)
  assert.ok(reported > 0, 'nothing was accepted')
  return [
    ...(drained === undefined ? [`after ${DRAINED_WITHIN_MS} ms not all is applied that the attackers sent`] : []),
    ...(accepted >= reported ? [] : [`${reported} were accepted, and ${accepted} are known`]),
    ...ledgers
      .filter(({ dead, difference, queued }) => dead > 0 || (queued === 0 && difference !== 0))
      .map((ledger) => `a ledger: ${JSON.stringify(ledger)}`),
  ]
}

export const tell = (
  what: string,
  { waits, reports, drained, ...more }: End & { waits: Waits; purged?: number | undefined },
): void => {
  const sent = reports.map(({ accepted, bytes, refused }) => {
    const others = Object.entries(refused).map(([status, count]) => `, ${count} got ${status}`)
    return `${accepted} (${(bytes / 1_000_000).toFixed(1)} MB${others.join('')})`
  })
  const purging = 'purged' in more ? `; a purge took ${more.purged ?? 'all too many'} ms` : ''
  console.log(
    `${what}: ${describeWaits(waits)}${purging}; sent ${sent.join(', ')}; settled ${drained ?? 'not even'} ms later`,
  )
}

export const describeWaits = ({ count, median, slowest, slowestAccepted, failed }: Waits): string =>
  `of ${count} applied after ${median} ms in the median, ${slowest} at the slowest, accepted after ${slowestAccepted} at the slowest` +
  (failed.length === 0 ? '' : `, ${failed.length} failed`)
