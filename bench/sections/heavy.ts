import { setTimeout as pause } from 'node:timers/promises'
import { emailOf, feedbackBody } from '../bodies.ts'
import { makeWorkspaces } from '../installation/make-workspaces.ts'
import { purgeContact } from '../installation/purge-contact.ts'
import type { Service } from '../installation/service.ts'
import { type CreateSection, feedbackTarget, loadOf, loadWith, newNumbers, type Rig, untilAllFinished } from '../rig.ts'

const EVERY_MS = 50
const LOOK_EVERY_MS = 5

/**
 * One contact with much feedback is absorbed, and another one is purged, while the same workspace
 * and another one submit feedback one by one.
 */
export const heavy: CreateSection = async (rig) => {
  const { config, measures, takeNumbers } = rig
  const service = await rig.service('heavy')
  const [neighbour] = await makeWorkspaces(service.sql, 1)
  const target = feedbackTarget(service)
  const fill = async (): Promise<number> => {
    const person = config.storedContacts + takeNumbers(1)
    const numbers = newNumbers(takeNumbers, config.purgedFeedback)
    await loadWith(rig, target, loadOf(numbers, { kind: 'feedback of one person', people: person }))
    await untilAllFinished(rig, service)
    return person
  }
  return {
    round: async () => {
      const absorbed = await fill()
      const merge = await whileOthersSubmit(rig, { service, neighbour: neighbour! }, () => absorb(service, absorbed))
      measures.add('an identify that absorbs a contact', merge.work)
      measures.add('longest wait of another workspace, during it', merge.neighbourMs)
      measures.add('longest statement, during it', merge.statementMs)
      measures.add('longest wait of its own workspace after it', merge.ownMs)
      const purged = await fill()
      const purge = await whileOthersSubmit(rig, { service, neighbour: neighbour! }, () =>
        purgeContact(service, emailOf(purged)),
      )
      measures.add('purge while few submit', purge.work)
      measures.add('longest wait of another workspace, during the purge', purge.neighbourMs)
      measures.add('longest statement, during the purge', purge.statementMs)
      measures.add('longest wait of its own workspace, during the purge', purge.ownMs)
    },
  }
}

type Taken = { work: number; neighbourMs: number; ownMs: number; statementMs: number }

/** Does the work while two workspaces submit one feedback every 50 ms each. */
const whileOthersSubmit = async (
  { takeNumbers }: Rig,
  { service, neighbour }: { service: Service; neighbour: string },
  work: () => Promise<number>,
): Promise<Taken> => {
  const over = new AbortController()
  const startedAt = new Date()
  let statementMs = 0
  let submitted = 0
  const submitOn = async (token: string): Promise<void> => {
    while (!over.signal.aborted) {
      const body = feedbackBody(takeNumbers(1), { people: 100 })
      await postJson(service, { token, path: '/feedbacks', body })
      submitted++
      await pause(EVERY_MS)
    }
  }
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      statementMs = Math.max(statementMs, await longestStatement(service))
      await pause(LOOK_EVERY_MS)
    }
  }
  const others = [submitOn(neighbour), submitOn(service.token), watch()]
  const took = await work().finally(() => over.abort())
  await Promise.all(others)
  const waits = await untilApplied(service, { since: startedAt, submitted })
  return { work: took, statementMs, ...waits }
}

const postJson = async (
  { url }: Service,
  { token, path, body }: { token: string; path: string; body: object },
): Promise<string> => {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${text}`)
  return answer.headers.get('Submission-Id')!
}

/** The milliseconds that the oldest running statement of the worker has taken so far. */
const longestStatement = async ({ sql }: Service): Promise<number> => {
  const [row] = await sql<{ ms: number }[]>`
    select coalesce(max(extract(epoch from clock_timestamp() - query_start) * 1000), 0)::float as ms
    from pg_stat_activity
    where state = 'active' and application_name like 'feedback-insights-worker%'`
  return row!.ms
}

/**
 * Waits until this many feedback since then are applied. Returns the longest time from acceptance
 * until then, by workspace.
 */
const untilApplied = async (
  { sql, workspaceId }: Service,
  { since, submitted }: { since: Date; submitted: number },
): Promise<{ neighbourMs: number; ownMs: number }> => {
  for (;;) {
    const [row] = await sql<{ applied: number; neighbour: number; own: number }[]>`
      select count(finished_at)::int as applied,
        coalesce(max(ms) filter (where workspace_id <> ${workspaceId}), 0) as neighbour,
        coalesce(max(ms) filter (where workspace_id = ${workspaceId}), 0) as own
      from submission, lateral (select extract(epoch from finished_at - accepted_at)::float * 1000) as took (ms)
      where accepted_at >= ${since} and operation = 'create_feedback'`
    if (row!.applied >= submitted) return { neighbourMs: row!.neighbour, ownMs: row!.own }
    await pause(EVERY_MS)
  }
}

/**
 * Identifies a person under an id that another email has already, so that the contact of the
 * feedback is absorbed. Returns the seconds from the request until it is applied.
 */
const absorb = async (service: Service, person: number): Promise<number> => {
  const { sql, token } = service
  const identify = (properties: object): Promise<string> =>
    postJson(service, { token, path: '/contacts/identify', body: { id: `absorber-${person}`, properties } })
  await identify({ $name: 'Absorber' })
  const startedAt = performance.now()
  const id = await identify({ $email: emailOf(person) })
  while ((await sql`select from submission where id = ${id} and state <> 'queued'`).count === 0)
    await pause(LOOK_EVERY_MS)
  const pending = async () => (await sql`select from pending_move`).count
  while ((await pending()) > 0) await pause(LOOK_EVERY_MS)
  const seconds = (performance.now() - startedAt) / 1_000
  const [moved] = await sql<{ feedback: number }[]>`
    select count(*)::int as feedback
    from contact_external_id as e
    join feedback as f on f.workspace_id = e.workspace_id and f.contact_id = e.contact_id
    where e.external_id = ${`absorber-${person}`}`
  if (moved!.feedback === 0) throw new Error('No feedback was moved to the absorber.')
  return seconds
}
