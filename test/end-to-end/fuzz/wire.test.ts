import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import process from 'node:process'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { usageOf } from '../../../bench/figures/usage.ts'
import { SERVICE_RUNTIME } from '../../support/service-process.ts'
import { readLedgers } from '../../support/ledgers.ts'
import { seeded } from '../../support/property-seed.ts'
import { exchange, type Seen } from '../../support/raw-exchange.ts'
import { workingService } from '../../support/shared-service.ts'
import { GUARD_MS, until } from '../../support/until.ts'
import { type Plan, plans, planText, type Script, scriptOf } from './fuzz-wire.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? (LONG ? 1_000_000 : 800))
/**
 * After this many requests the test drains the queue, and compares the records with the answers.
 */
const ROUND = 20_000
const LANES = 32
const ON_BUN = SERVICE_RUNTIME === 'bun'
/** If the server is silent for this time, it may wait for more bytes: the client ends its stream. */
const QUIET_MS = 60
const SEEDS_BELOW = 2 ** 30
const MOST_GROWTH_BYTES = 100_000_000
const STATUSES_OF_RUNTIME = [400, 413, 431, 505]

type Exchange = { readonly script: Script; readonly seen: Seen }
type Outcome = Exchange & { readonly plan: Plan }
type Count = (what: string) => void

const service = await workingService()

describe('any bytes', () => {
  let sent = 0
  // An id occurs once in its request, so that `followedIn` finds the body by its id.
  const nextId = (): string => {
    sent += 1
    return `${sent}-${(Math.imul(sent, 0x9e3779b1) >>> 0).toString(16)}`
  }

  const outcomeOf = async (plan: Plan): Promise<Outcome> => {
    const script = scriptOf(plan, service.accessToken, nextId)
    const seen = await exchange(service.urls[0]!, {
      pieces: script.pieces,
      ending: script.ending,
      quietMs: script.answers === undefined ? QUIET_MS : undefined,
      isEnough: ({ answers }) => answers.length === script.answers,
      withinMs: GUARD_MS,
    })
    return { plan, script, seen }
  }

  const takeStored = async (): Promise<Set<string>> => {
    await until('all submissions are processed', async () => {
      const found = await readLedgers(service.sql, service.redis, service.redisPrefix)
      return found.every(({ queued }) => queued === 0)
    })
    const rows = await service.sql<
      { source_id: string }[]
    >`delete from feedback where source = 'wire' returning source_id`
    return new Set(rows.map(({ source_id }) => source_id))
  }

  const sendUntil = async (end: number, seed: number): Promise<Outcome[]> => {
    const outcomes: Outcome[] = []
    const lanes = Array.from({ length: LANES }, async (_, lane) => {
      for (const plan of fc.sample(plans, { seed: seed + lane, numRuns: Math.ceil((end - sent) / LANES) })) {
        if (sent >= end) break
        outcomes.push(await outcomeOf(plan))
      }
    })
    await Promise.all(lanes)
    return outcomes
  }

  it(`lead to the records that the answers confirm: ${REQUESTS} requests`, async () => {
    const { seed = randomInt(SEEDS_BELOW) } = seeded()
    const tally = new Map<string, number>()
    const count: Count = (what) => void tally.set(what, (tally.get(what) ?? 0) + 1)
    const memory: number[] = []
    for (let end = 0; end < REQUESTS;) {
      end = Math.min(end + ROUND, REQUESTS)
      const outcomes = await sendUntil(end, seed + end)
      await service.submit('/feedbacks', { description: 'The service is alive' })
      judge(outcomes, await takeStored(), count)
      memory.push(usageOf({ api: service.apiPids[0]! }).api.memoryBytes)
      assert.ok(memory.at(-1)! - memory[0]! < MOST_GROWTH_BYTES, `memory of the API: ${memory.join(', ')}`)
    }
    const megabytes = memory.map((bytes) => Math.round(bytes / 1e6)).join(', ')
    console.log(`${sent} requests, FC_SEED=${seed}, the API had ${megabytes} MB`)
    console.log(JSON.stringify(Object.fromEntries(tally)))
  })
})

/** Fails with the connections whose answers do not match the records. */
const judge = (outcomes: readonly Outcome[], stored: ReadonlySet<string>, count: Count): void => {
  const faults = outcomes.flatMap((outcome) =>
    [...faultsOfAnswers(outcome, count), ...faultsOfStored(outcome, stored, count)].map(
      (fault) => `${fault}: ${planText(outcome.plan)} saw ${JSON.stringify(outcome.seen).slice(0, 1_000)}`,
    ),
  )
  assert.deepEqual(faults.slice(0, 10), [], `${faults.length} faults`)
}

const faultsOfAnswers = ({ script, seen: { answers, isClosed, hasGoneFirst } }: Exchange, count: Count): string[] => {
  for (const { status, isOurs } of answers) count(`${status}${isOurs ? '' : ' bare'}`)
  if (answers.length === 0) count('no answer')
  const isOver = isClosed || answers.length === script.answers
  return [
    ...(isOver || hasGoneFirst ? [] : ['neither answered nor closed']),
    ...answers.flatMap(({ status, isOurs }, index) => {
      if (isOurs) return status < 500 ? [] : [`answered with ${status}`]
      if (!STATUSES_OF_RUNTIME.includes(status)) return [`the runtime answered with ${status}`]
      return index === answers.length - 1 && (isClosed || hasGoneFirst)
        ? []
        : ['the runtime answered and did not close']
    }),
  ]
}

const faultsOfStored = ({ script, seen }: Exchange, stored: ReadonlySet<string>, count: Count): string[] => {
  const { answers } = seen
  const accepted = answers.flatMap(({ status, body }) =>
    status === 201 ? [(JSON.parse(body) as { feedback: { sourceId: string } }).feedback.sourceId] : [],
  )
  // On Bun a pipelined request breaks off the request before it.
  const certain = ON_BUN || script.answers === undefined ? script.sound : script.answers
  const missing = script.sourceIds.slice(0, certain).filter((id) => !accepted.includes(id))
  const lost = accepted.filter((id) => !stored.has(id) || !script.sourceIds.includes(id))
  const unconfirmed = script.sourceIds.filter((id, index) => {
    if (!stored.has(id) || accepted.includes(id)) return false
    const excuse = excuseOf({ script, seen }, id, answers[index]?.status)
    if (excuse) count(`stored without a 201: ${excuse}`)
    return excuse === undefined
  })
  return [
    ...missing.map((id) => `${id} was not answered with 201`),
    ...lost.map((id) => `${id} was answered with 201 and is not stored`),
    ...unconfirmed.map((id) => `${id} is stored and was not answered with 201`),
    ...(new Set(accepted).size < accepted.length ? ['a submission was answered twice'] : []),
  ]
}

/** The documented reason why a client did not learn of a stored submission (docs/integrate.md). */
const excuseOf = ({ script, seen }: Exchange, id: string, status: number | undefined): string | undefined => {
  if (ON_BUN && script.followed.has(id)) return 'more bytes came in a later packet'
  if (status !== undefined && status >= 400) return undefined
  if (seen.hasGoneFirst) return 'the client had ended the connection'
  return seen.isBroken && script.answers === undefined ? 'the following bytes broke the connection' : undefined
}
