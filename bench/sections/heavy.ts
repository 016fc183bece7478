import { setTimeout as pause } from 'node:timers/promises'
import { emailOf, feedbackBody } from '../bodies.ts'
import { finalState } from '../installation/finished.ts'
import { makeWorkspaces } from '../installation/make-workspaces.ts'
import type { Service } from '../installation/service.ts'
import { type CreateSection, type Rig, submit } from '../rig.ts'
import { giveFeedback, purgePerson } from './purge.ts'

const PAUSE_MS = 50
const LOOK_EVERY_MS = 5
/** Neighbours take turns, so that each is idle in between, and no worker stays with it. */
const NEIGHBOURS = 12

/**
 * An identify absorbs a contact with much feedback, and later a purge removes another such contact.
 * Meanwhile their workspace and its neighbours submit feedback one by one.
 */
export const heavy: CreateSection = async (rig) => {
  const { config, measures, takeNumbers } = rig
  const service = await rig.service('heavy')
  const neighbours = await makeWorkspaces(service.sql, NEIGHBOURS)
  const measure = async (
    when: 'during the identify' | 'during the purge',
    work: (rig: Rig, service: Service, person: number) => Promise<number>,
  ): Promise<number> => {
    const person = config.storedContacts + takeNumbers(1)
    await giveFeedback(rig, service, person)
    const taken = await whileOthersSubmit(rig, { service, neighbours }, () => work(rig, service, person))
    measures.add(`longest wait of another workspace, ${when}`, taken.neighbourMs)
    measures.add(`longest statement, ${when}`, taken.statementMs)
    measures.add(`longest wait of its own workspace, ${when}`, taken.ownMs)
    return taken.seconds
  }
  return {
    round: async () => {
      measures.add('an identify that absorbs a contact', await measure('during the identify', absorb))
      measures.add('purge while few submit', await measure('during the purge', purgePerson))
    },
  }
}

type WorkTimes = { seconds: number; neighbourMs: number; ownMs: number; statementMs: number }

/**
 * Does the work while the own workspace and the neighbours submit feedback one by one, with a pause
 * after each answer.
 */
const whileOthersSubmit = async (
  rig: Rig,
  { service, neighbours }: { service: Service; neighbours: readonly string[] },
  work: () => Promise<number>,
): Promise<WorkTimes> => {
  const over = new AbortController()
  const startedAt = new Date()
  let statementMs = 0
  let submitted = 0
  const submitOn = async (tokens: readonly string[]): Promise<void> => {
    for (let at = 0; !over.signal.aborted; at++) {
      const token = tokens[at % tokens.length]!
      await submit(rig, service, { token, path: '/feedbacks', body: feedbackBody(rig.takeNumbers(1), { people: 100 }) })
      submitted++
      await pause(PAUSE_MS)
    }
  }
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      statementMs = Math.max(statementMs, await longestStatement(service))
      await pause(LOOK_EVERY_MS)
    }
  }
  const others = [submitOn(neighbours), submitOn([service.token]), watch()]
  const seconds = await work().finally(() => over.abort())
  await Promise.all(others)
  const waits = await untilApplied(service, { since: startedAt, submitted })
  return { seconds, statementMs, ...waits }
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
 * Waits until `submitted` feedback that Redis accepted after `since` is applied. Returns the
 * longest time from acceptance to application, in the neighbouring workspaces and in the own one.
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
    await pause(PAUSE_MS)
  }
}

/**
 * Identifies a new contact, and then gives it the email of a person. So the new contact absorbs the
 * contact of the feedback. Returns the seconds from the second request until all feedback has moved.
 */
const absorb = async (rig: Rig, service: Service, person: number): Promise<number> => {
  const { sql } = service
  const identify = (properties: object): Promise<string> =>
    submit(rig, service, { path: '/contacts/identify', body: { id: `absorber-${person}`, properties } })
  await identify({ $name: 'Absorber' })
  const startedAt = performance.now()
  const id = await identify({ $email: emailOf(person) })
  await finalState(service, id, LOOK_EVERY_MS)
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
