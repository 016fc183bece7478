import { contactBody, conversationBody, MESSAGES_PER_CONVERSATION } from '../bodies.ts'
import { drainFor, halt, ofJobs } from '../installation/drain.ts'
import { fillPlainQueue, fillQueue } from '../installation/fill-queue.ts'
import type { Installation } from '../installation/installation.ts'
import { usedBytes } from '../installation/redis-memory.ts'
import { type CreateSection, drainBounds, feedbackFilling, type Rig } from '../rig.ts'

/** How many waiting jobs a worker finishes in a second, and what those of the plain queue weigh while they wait. */
export const drain: CreateSection = async (rig) => {
  const main = await rig.installation('main')
  await halt(main.drained('submissions').queues)
  await halt(main.drained('conversations').queues)
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
  const { config } = rig
  const plain = await rig.plain()
  const bounds = drainBounds(config)
  await plain.idleQueue.pause()
  const idleJobs = 2 * config.drained
  await fillPlainQueue(plain.idleQueue, feedbackFilling(rig, idleJobs))
  const idle = await drainFor(ofJobs(plain.idleQueue), { ...bounds, jobs: idleJobs })
  await plain.empty()
  await plain.queue.pause()
  const before = await usedBytes(plain.redis)
  const bodyBytes = await fillPlainQueue(plain.queue, feedbackFilling(rig, config.drained))
  const weight = (await usedBytes(plain.redis)) - before - bodyBytes
  const plainly = await drainFor(ofJobs(plain.queue), bounds)
  await plain.empty()
  return { idle: idle.perSecond, plainly: plainly.perSecond, weight: weight / config.drained }
}

const drainFeedback = async (rig: Rig, main: Installation): Promise<void> => {
  const { config, measures } = rig
  await main.empty()
  await fillQueue(main, 'create_feedback', feedbackFilling(rig, config.drained))
  const { finished, perSecond } = await drainFor(main.drained('submissions'), drainBounds(config))
  measures.add('feedback drained', perSecond)
  await assertApplied(main, finished)
  await main.empty()
}

const drainContacts = async ({ config, measures, takeNumbers }: Rig, main: Installation): Promise<void> => {
  const filling = { from: takeNumbers(config.drained), count: config.drained, bodyOf: contactBody }
  await fillQueue(main, 'identify_contact', filling)
  const { finished, perSecond } = await drainFor(main.drained('submissions'), drainBounds(config))
  measures.add('contacts drained', perSecond)
  await assertApplied(main, finished)
  await main.empty()
}

/** Their tags are generated meanwhile, by the same worker, and not waited for. */
const drainConversations = async ({ config, measures, takeNumbers }: Rig, main: Installation): Promise<void> => {
  const count = Math.ceil(config.drained / MESSAGES_PER_CONVERSATION)
  await fillQueue(main, 'submit_conversation', { from: takeNumbers(count), count, bodyOf: conversationBody })
  const { finished, perSecond } = await drainFor(main.drained('conversations'), { ...drainBounds(config), jobs: count })
  measures.add('messages of conversations drained', perSecond * MESSAGES_PER_CONVERSATION)
  await assertApplied(main, finished)
  await main.empty()
}

const assertApplied = async ({ sql, workspaceId }: Installation, expected: number): Promise<void> => {
  const [row] = await sql<{ applied: string }[]>`
    select coalesce(sum(submissions), 0) as applied from ledger where workspace_id = ${workspaceId} and state = 'applied'`
  if (Number(row!.applied) !== expected) throw new Error(`${row!.applied} of ${expected} submissions were applied`)
}
