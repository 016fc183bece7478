import type { Redis } from 'ioredis'
import { contactBody, conversationBody } from '../bodies.ts'
import { drainFor } from '../installation/drain.ts'
import { fillPlainQueue, fillQueue } from '../installation/fill-queue.ts'
import type { Installation } from '../installation/installation.ts'
import { type CreateSection, drainBounds, feedbackFilling, type Rig } from '../rig.ts'

const JOBS_PER_CONVERSATION = 20

/** How many waiting jobs a worker finishes in a second, and what they weigh while they wait. */
export const drain: CreateSection = async (rig) => {
  const main = await rig.installation('main')
  await main.queues.contacts.pause()
  await main.queues.conversations.pause()
  // As warm as the worker that they are compared with.
  await drainPlain(rig)
  const round = async (): Promise<void> => {
    const { idle, plainly, weight } = await drainPlain(rig)
    rig.measures.add('do-nothing worker, drained', idle)
    rig.measures.add('plain queue, Redis memory per waiting job', weight)
    rig.measures.add('plain worker, drained', plainly)
    await drainFeedback(rig, main)
    await drainContacts(rig, main)
    await drainConversations(rig, main)
  }
  return { round }
}

const drainPlain = async (rig: Rig): Promise<{ idle: number; plainly: number; weight: number }> => {
  const { config, plain } = rig
  const bounds = drainBounds(config)
  await plain.idleQueue.pause()
  const idleJobs = 2 * config.drained
  await fillPlainQueue(plain.idleQueue, feedbackFilling(rig, idleJobs))
  const idle = await drainFor(plain.idleQueue, { ...bounds, jobs: idleJobs })
  await plain.empty()
  await plain.queue.pause()
  const weight = await weigh(plain.redis, () => fillPlainQueue(plain.queue, feedbackFilling(rig, config.drained)))
  const plainly = await drainFor(plain.queue, bounds)
  await plain.empty()
  return { idle: idle.perSecond, plainly: plainly.perSecond, weight: weight / config.drained }
}

const drainFeedback = async (rig: Rig, main: Installation): Promise<void> => {
  const { config, measures } = rig
  await main.empty()
  const weight = await weigh(main.redis, () => fillQueue(main, 'create_feedback', feedbackFilling(rig, config.drained)))
  measures.add('Redis memory per waiting submission', weight / config.drained)
  const { finished, perSecond } = await drainFor(main.queues.feedback, drainBounds(config))
  measures.add('feedback drained', perSecond)
  await assertApplied(main, finished)
  await main.empty()
}

const drainContacts = async ({ config, measures, takeNumbers }: Rig, main: Installation): Promise<void> => {
  const filling = { from: takeNumbers(config.drained), count: config.drained, bodyOf: contactBody }
  await fillQueue(main, 'identify_contact', filling)
  const { finished, perSecond } = await drainFor(main.queues.contacts, drainBounds(config))
  measures.add('contacts drained', perSecond)
  await assertApplied(main, finished)
  await main.empty()
}

/** Their tags are generated meanwhile, by the same worker, and not waited for. */
const drainConversations = async ({ config, measures, takeNumbers }: Rig, main: Installation): Promise<void> => {
  const count = Math.ceil(config.drained / JOBS_PER_CONVERSATION)
  await fillQueue(main, 'submit_conversation', { from: takeNumbers(count), count, bodyOf: conversationBody })
  const { finished, perSecond } = await drainFor(main.queues.conversations, { ...drainBounds(config), jobs: count })
  measures.add('conversations drained', perSecond)
  await assertApplied(main, finished)
  await main.empty()
}

/** Bytes of Redis memory that a filling takes beyond the bodies it consists of. */
const weigh = async (redis: Redis, fill: () => Promise<number>): Promise<number> => {
  const before = await usedBytes(redis)
  const bodyBytes = await fill()
  return (await usedBytes(redis)) - before - bodyBytes
}

const usedBytes = async (redis: Redis): Promise<number> =>
  Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1])

const assertApplied = async ({ sql, workspaceId }: Installation, expected: number): Promise<void> => {
  const [row] = await sql<{ applied: string }[]>`
    select coalesce(sum(submissions), 0) as applied from ledger where workspace_id = ${workspaceId} and state = 'applied'`
  if (Number(row!.applied) !== expected) throw new Error(`${row!.applied} of ${expected} submissions were applied`)
}
