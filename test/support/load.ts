import { setTimeout as pause } from 'node:timers/promises'
import type { Service } from './service.ts'
import { until } from './until.ts'

/**
 * The results of clients. `accepted`: ids in the order of the answers. `unknown`: requests without
 * an answer. `refused`: answers 503 with a time to retry. `wrong`: other answers without an id.
 */
type Seen = { accepted: Set<string>; unknown: number; refused: number; slowestMs: number; wrong: string[] }
type Load = { seen: Seen; stop: () => Promise<void> }

const CLIENTS = 4
const BETWEEN_MS = 50
const AFTER_TROUBLE_MS = 50

let texts = 0

/** Starts clients that send submissions until `stop`. Each submission has a unique text. */
export const startLoad = (service: Pick<Service, 'post'>): Load => {
  const seen: Seen = { accepted: new Set(), unknown: 0, refused: 0, slowestMs: 0, wrong: [] }
  const stopped = new AbortController()
  const client = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const isAccepted = await submitOne(service, seen, texts++)
      await pause(isAccepted ? BETWEEN_MS : AFTER_TROUBLE_MS)
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  return {
    seen,
    stop: async () => {
      stopped.abort()
      await Promise.all(clients)
    },
  }
}

/** Waits until this many more submissions are accepted. */
export const untilMoreAccepted = ({ seen: { accepted } }: Load, more = 20): Promise<unknown> => {
  const wanted = accepted.size + more
  return until('more submissions are accepted', () => Promise.resolve(accepted.size >= wanted))
}

const submitOne = async ({ post }: Pick<Service, 'post'>, seen: Seen, index: number): Promise<boolean> => {
  const [path, body] = submission(`load ${index}`, index)
  const startedAt = performance.now()
  const answer = await post(path, body).catch(() => undefined)
  seen.slowestMs = Math.max(seen.slowestMs, performance.now() - startedAt)
  const id = answer?.headers.get('Submission-Id')
  if (answer === undefined) seen.unknown++
  else if (id) seen.accepted.add(id)
  else if (answer.status === 503 && Number(answer.headers.get('Retry-After')) > 0) seen.refused++
  else seen.wrong.push(`${path} ${answer.status} ${answer.text}`)
  return Boolean(id)
}

const submission = (text: string, index: number): [path: string, body: object] => {
  const contact = { id: `contact ${index % 50}`, properties: { $email: `c${index % 50}@example.com`, text } }
  if (index % 10 === 3) return ['/contacts/identify', contact]
  if (index % 10 === 7) {
    const createdAt = '2026-01-01T00:00:00Z'
    const messages = [{ id: 'm', incoming: true, contactId: contact.id, content: text, createdAt }]
    return ['/conversations', { id: `chat ${index}`, source: 'chat', createdAt, contacts: [contact], messages }]
  }
  return ['/feedbacks', { description: text, contact: { email: `c${index % 50}@example.com` } }]
}

/**
 * Milliseconds since `startedAt` until a new submission is accepted and applied, and all accepted
 * submissions are settled.
 */
export const recovery = async (
  { post, sql }: Pick<Service, 'post' | 'sql'>,
  { accepted }: Seen,
  startedAt = performance.now(),
): Promise<number> => {
  const isApplied = async (): Promise<boolean> => {
    const answer = await post('/feedbacks', { description: 'probe' }, { headers: { Prefer: 'wait=10' } })
    const id = answer.headers.get('Submission-Id')
    if (id !== null) accepted.add(id)
    return answer.headers.get('Submission-State') === 'applied'
  }
  const areSettled = async (): Promise<boolean> => {
    const { count } = await sql`
      select from unnest(${[...accepted]}::uuid[]) as a (id)
      where not exists (select from submission as s where s.id = a.id and s.state <> 'queued')`
    return count === 0
  }
  await until('a new submission is applied', () => isApplied().catch(() => false))
  await until('all accepted submissions are settled', () => areSettled().catch(() => false))
  return performance.now() - startedAt
}

/**
 * The number of accepted submissions that are neither applied nor superseded, and of texts in
 * several feedbacks or in several messages.
 */
export const damage = async (
  { sql }: Pick<Service, 'sql'>,
  accepted: ReadonlySet<string>,
): Promise<{ lost: number; doubled: number }> => {
  const [row] = await sql<[{ lost: number; doubled: number }]>`
    select
      (
        select count(*)::int from unnest(${[...accepted]}::uuid[]) as a (id)
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
