import { emailOf, personOf } from '../bodies.ts'
import { purgeContact } from '../installation/purge-contact.ts'
import { restingBytes } from '../installation/redis-memory.ts'
import type { Service } from '../installation/service.ts'
import { untilSettled } from '../installation/settled.ts'
import type { Answer } from '../load/order.ts'
import { type CreateSection, feedbackTarget, LONGEST_LOAD_SECONDS, orderFor, type Rig } from '../rig.ts'

const REDIS_MEMORY_BYTES = 512 * 1024 ** 2
const BYTES_PER_MB = 1_000_000
const REPEATED = 1_000
const FEEDBACK_PER_PERSON = 300
/** They are sent in portions, the next one when no more than this waits: it is not the backlog that shall fill Redis. */
const PORTION = 20_000
const MOST_WAITING = 50_000
/** Whose feedback is purged, and how much of it is repeated meanwhile. */
const VICTIM = 0
const REPEATED_OF_VICTIM = 100

/** Submissions of one workspace: which numbers they have, and how many people they are from. */
type Sent = { readonly from: number; readonly count: number; readonly people: number }

/** Many keys, each of which is still known after its submission is settled. Once in a run, however many rounds it has. */
export const keys: CreateSection = async (rig) => {
  const { config, measures, say } = rig
  let isDone = false
  const service = await rig.service('keys', REDIS_MEMORY_BYTES)
  return {
    round: async () => {
      if (isDone) return
      isDone = true
      const count = config.keys
      const people = Math.max(2, Math.floor(count / FEEDBACK_PER_PERSON))
      const sent: Sent = { from: rig.takeNumbers(count), count, people }
      const drawn = draw(sent, config.seed)
      say(`  ${drawn.length} repeats drawn with BENCH_SEED=${config.seed}`)
      const before = await restingBytes(service.redis, config.seconds * 1_000)
      const { refused, first } = await submitAll(rig, { service, sent, drawn })
      measures.add('refused while keys come in', refused)
      const after = await restingBytes(service.redis, config.seconds * 1_000)
      measures.add('Redis memory of settled keys', (after - before) / BYTES_PER_MB)
      await repeatAll(rig, { service, sent, first })
    },
  }
}

type Submitted = { readonly service: Service; readonly sent: Sent }

/** Returns how many were refused, and the first answers to those that were drawn and accepted, when all are settled. */
const submitAll = async (
  rig: Rig,
  { service, sent, drawn }: Submitted & { drawn: readonly number[] },
): Promise<{ refused: number; first: readonly Answer[] }> => {
  const first: Answer[] = []
  let refused = 0
  let accepted = 0
  for (let done = 0; done < sent.count; done += PORTION) {
    const order = keyedOrder(rig, { service, sent })
    const numbers = { from: sent.from + done, most: Math.min(PORTION, sent.count - done) }
    const result = await rig.load.attempt({ ...order, numbers, remembered: drawn })
    refused += result.refused
    accepted += result.accepted
    first.push(...result.answers.filter(isAccepted))
    await untilSettled(service, accepted - MOST_WAITING)
  }
  await untilSettled(service, accepted)
  const [row] = await service.sql<{ rows: string }[]>`select count(*) as rows from submission where state <> 'queued'`
  if (Number(row!.rows) < accepted) throw new Error(`${row!.rows} of ${accepted} submissions are stored`)
  return { refused, first }
}

const keyedOrder = (rig: Rig, { service, sent }: Submitted) =>
  orderFor(rig, feedbackTarget(service), {
    seconds: LONGEST_LOAD_SECONDS,
    people: sent.people,
    numbers: [],
    idempotencyKeys: true,
  })

/** Repeats what was drawn, at first alone and then for as long as a purge takes. */
const repeatAll = async (
  rig: Rig,
  { service, sent, first }: Submitted & { first: readonly Answer[] },
): Promise<void> => {
  const { measures, load, say } = rig
  const order = keyedOrder(rig, { service, sent })
  const firstOf = new Map(first.map((answer) => [answer.number, answer]))
  const repeat = async (numbers: readonly number[]): Promise<readonly Answer[]> =>
    (await load.attempt({ ...order, numbers, remembered: numbers })).answers

  const drawn = [...firstOf.keys()]
  const alone = (await repeat(drawn)).filter((answer) => !isSame(answer, firstOf.get(answer.number)))
  report(rig, alone)
  measures.add('wrong answers to repeats', alone.length)

  const isPurged = (number: number): boolean => personOf(number, sent) === VICTIM
  const early = numbersOf(sent).filter(isPurged).slice(0, REPEATED_OF_VICTIM)
  const late = early.splice(early.length / 2)
  const meanwhile = [...early, ...drawn, ...late]
  const wrong = new Map<number, Answer>()
  let repeats = 0
  const over = new AbortController()
  const purging = purgeContact(service, emailOf(VICTIM)).finally(() => over.abort())
  const repeating = (async () => {
    do {
      for (const answer of await repeat(meanwhile)) {
        repeats++
        const isRight = isPurged(answer.number) ? isAccepted(answer) : isSame(answer, firstOf.get(answer.number))
        if (!isRight) wrong.set(answer.number, answer)
      }
    } while (!over.signal.aborted)
  })()
  const [seconds] = await Promise.all([purging, repeating])
  say(`  ${repeats} repeats while a purge took ${seconds.toFixed(2)} s`)
  report(rig, [...wrong.values()])
  measures.add('wrong answers to repeats during a purge', wrong.size)
}

const report = ({ say }: Rig, wrong: readonly Answer[]): void => {
  for (const [status, { length }] of Map.groupBy(wrong, (answer) => answer.status)) say(`  ${length} wrong: ${status}`)
}

const isAccepted = ({ status }: Answer): boolean => status === 200 || status === 201

const isSame = (answer: Answer, first: Answer | undefined): boolean =>
  isAccepted(answer) &&
  answer.submissionId !== '' &&
  answer.submissionId === first?.submissionId &&
  answer.body === first.body

const numbersOf = ({ from, count }: Sent): number[] => Array.from({ length: count }, (_, place) => from + place)

/** So many different ones, in the order in which they were drawn. */
const draw = ({ from, count }: Sent, seed: number): number[] => {
  const random = randomFrom(seed)
  const drawn = new Set<number>()
  while (drawn.size < Math.min(REPEATED, count)) drawn.add(from + Math.floor(random() * count))
  return [...drawn]
}

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
