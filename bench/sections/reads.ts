import { setTimeout as pause } from 'node:timers/promises'
import { fillTables } from '../../test/support/fill-tables.ts'
import { percentile } from '../figures/statistics.ts'
import type { Measure } from '../figures/measures.ts'
import type { Service } from '../installation/service.ts'
import { settleReads } from '../installation/settle-reads.ts'
import { type CreateSection, feedbackTarget, loadWith, untilAllFinished, warmUp } from '../rig.ts'

const PER_SECOND = 1_000
const READERS = 10
/** The pause of a reader after an answer. Without it, ten readers take all of two cores. */
const PAUSE_MS = 50
const CHANGES_AT_ONCE = 500

/** Reads of a workspace with much feedback, while submissions come in at a steady rate. */
export const reads: CreateSection = async (rig) => {
  const { config, measures } = rig
  const service = await rig.service('reads', { hasReadsApi: true })
  await fillAndSettle(service, config.readFeedback)
  const target = feedbackTarget(service)
  await warmUp(rig, [target])
  await untilAllFinished(rig, service)
  // The API process for reads is new, and slower until its code is compiled.
  await whileRead(service, { readers: 1, kinds: [...READS, ...CALLS, ...PAGES] }, () => pause(READ_SECONDS * 1_000))
  const steadily = () => loadWith(rig, target, { perSecond: PER_SECOND, seconds: READ_SECONDS, idempotencyKeys: true })
  return {
    round: async () => {
      const alone = await steadily()
      measures.add('p99 at 1,000 a second, no readers', alone.p99Ms)
      await untilAllFinished(rig, service)
      const [, quiet] = await whileRead(service, { readers: 1, kinds: CALLS }, () => pause(READ_SECONDS * 1_000))
      measures.add('a call of an agent, nothing coming in, p95', p95([...quiet.values()].flat()))
      for (const kinds of [READS, CALLS, COUNTS, PAGES]) {
        const [, taken] = await whileRead(service, { readers: 1, kinds }, steadily)
        for (const [measure, times] of taken) measures.add(measure, p95(times))
        await untilAllFinished(rig, service)
      }
      for (const [who, kinds] of [['readers', READS] as const, ['agents', CALLS] as const]) {
        const [load] = await whileRead(service, { readers: READERS, kinds }, steadily)
        measures.add(`p99 at 1,000 a second, ten ${who}`, load.p99Ms)
        measures.add(`accepted of 1,000 a second, ten ${who}`, load.accepted / load.seconds)
        await untilAllFinished(rig, service)
      }
    },
  }
}

const FILLED = [
  'feedback',
  'contact',
  'account',
  'conversation',
  'message',
  'submission',
  'search_text',
  'search_block',
  'feedback_sum',
]

/**
 * Fills the tables, and does the work of Postgres that would otherwise follow during the
 * measurement. Autovacuum is off for these tables: it would record the small gap that rows of
 * equal size leave in each page. Postgres would use these gaps, and put each of the next rows into
 * another page.
 */
const fillAndSettle = async (service: Service, feedback: number): Promise<void> => {
  const { sql } = service
  for (const table of FILLED) await sql`alter table ${sql(table)} set (autovacuum_enabled = off)`
  await fillTables(sql, feedback)
  await sql.unsafe('analyze')
  await settleReads(service)
  // The first reader of a row notes that the row is committed. The condition needs the row itself.
  for (const table of FILLED) await sql`select count(*) from ${sql(table)} as r where r is not null`
  await sql.unsafe('analyze')
  await sql.unsafe('checkpoint')
}

const READ_SECONDS = 8

const p95 = (times: readonly number[]): number =>
  percentile(
    times.toSorted((a, b) => a - b),
    0.95,
  )

type Times = Map<Measure, number[]>
/** One kind of read: the measure of its time, and the next request of the kind. */
type KindOfRead = readonly [Measure, (place: ReadPlace) => Request]
/** `ids`: ids of stored feedback. `at`: the number of the read. `cookie`: of a session at the page. */
type ReadPlace = { service: Service; ids: readonly string[]; at: number; cookie: string }

/** Does the work while readers repeat these reads. Returns its result and the times of the reads. */
const whileRead = async <T>(
  service: Service,
  { readers, kinds }: { readers: number; kinds: readonly KindOfRead[] },
  work: () => Promise<T>,
): Promise<[T, Times]> => {
  const over = new AbortController()
  const taken: Times = new Map(kinds.map(([measure]) => [measure, []]))
  const reading = Array.from({ length: readers }, (_, at) => readOn(service, { at, kinds, taken, over: over.signal }))
  const done = await work()
  over.abort()
  await Promise.all(reading)
  return [done, taken]
}

const get = ({ service: { readsUrl, token } }: ReadPlace, path: string): Request =>
  new Request(`${readsUrl}${path}`, { headers: { Authorization: `Bearer ${token}` } })

const READS: readonly KindOfRead[] = [
  ['a list, p95', (place) => get(place, '/feedbacks')],
  ['a list by source, p95', (place) => get(place, '/feedbacks?source=mail&order=oldest')],
  ['a search for a word, p95', (place) => get(place, '/feedbacks?q=exports')],
  ['a search for two words, p95', (place) => get(place, '/feedbacks?q=picture+report')],
  ['a record, p95', (place) => get(place, `/feedbacks/${place.ids[place.at % place.ids.length]}`)],
  [
    '500 changes, p95',
    (place) => get(place, `/changes?limit=${CHANGES_AT_ONCE}&after=${1 + (place.at % place.ids.length)}`),
  ],
]

const call = ({ service: { readsUrl, token }, at }: ReadPlace, name: string, given: object): Request => {
  const params = { name, arguments: given }
  return new Request(new URL('/mcp', readsUrl), {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: at, method: 'tools/call', params }),
  })
}

const MS_PER_DAY = 86_400_000
const daysAgo = (days: number): string => new Date(Date.now() - days * MS_PER_DAY).toISOString()

/** The calls of agents for the commonest questions. */
const CALLS: readonly KindOfRead[] = [
  [
    'a call of an agent, p95',
    (place) => call(place, 'count_feedback', { by: 'tag', filters: { createdFrom: daysAgo(30) } }),
  ],
  ['a call of an agent, p95', (place) => call(place, 'list_feedback', { filters: { q: 'export' } })],
  ['a call of an agent, p95', (place) => call(place, 'compare_periods', { by: 'tag' })],
  ['a call of an agent, p95', (place) => call(place, 'list_feedback', { filters: { source: 'mail' }, limit: 10 })],
  ['a call of an agent, p95', (place) => call(place, 'get_feedback', { id: place.ids[place.at % place.ids.length] })],
]

const COUNTED = [
  'tag',
  'source',
  'project',
  'account',
  'customer',
  'week',
  'month',
  'rating',
  'account,source',
  'tag,month',
]

/** Counts of everything. */
const COUNTS: readonly KindOfRead[] = COUNTED.map((by) => [
  'a count of all feedback, p95',
  (place) => get(place, `/counts?by=${by}`),
])

/** Pages of people. */
const PAGES: readonly KindOfRead[] = ['', '/themes', '/accounts', '/feedback', '/sources', '/groups?by=project'].map(
  (path) => [
    'a page of people, p95',
    ({ service: { readsUrl }, cookie }) =>
      new Request(new URL(`/insights${path}`, readsUrl), { headers: { Cookie: cookie } }),
  ],
)

/** Signs in at the page. Returns the cookie of the session. */
const signIn = async ({ readsUrl, token }: Service): Promise<string> => {
  const url = new URL('/insights/session', readsUrl)
  const answer = await fetch(url, {
    method: 'POST',
    headers: { Origin: url.origin, 'Sec-Fetch-Site': 'same-origin' },
    body: new URLSearchParams({ act: 'begin', token }),
    redirect: 'manual',
  })
  return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
}

const OUT_OF_TIME = /did not answer in time/
const TOO_MANY = /Too many reads of this workspace/

type ReadLoop = { at: number; kinds: readonly KindOfRead[]; taken: Times; over: AbortSignal }

const readOn = async (service: Service, { at: first, kinds, taken, over }: ReadLoop): Promise<void> => {
  const { sql, workspaceId } = service
  const rows = await sql<{ id: string }[]>`select id from feedback where workspace_id = ${workspaceId} limit 1000`
  const ids = rows.map(({ id }) => id)
  const cookie = await signIn(service)
  for (let at = first; !over.aborted; at++) {
    const [measure, requestOf] = kinds[at % kinds.length]!
    const startedAt = performance.now()
    const answer = await fetch(requestOf({ service, ids, at, cookie }))
    const text = await answer.text()
    // Refused, since there are too many reads at a time. The reader goes on with its next read.
    if (answer.status === 503 || TOO_MANY.test(text)) continue
    // A call that runs out of time is measured, too.
    if (!answer.ok || (text.includes('"isError":true') && !OUT_OF_TIME.test(text)))
      throw new Error(`A read was answered ${answer.status}: ${text}`)
    taken.get(measure)!.push(performance.now() - startedAt)
    await pause(PAUSE_MS)
  }
}
