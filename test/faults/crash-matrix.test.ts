import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import {
  type FaultSignal,
  type FaultStack,
  SIGNALS,
  startFaultStack,
  type Target,
  TARGETS,
} from '../support/fault-stack.ts'
import { type Load, nothingSeen, type Seen, startLoad } from '../support/load.ts'
import { seeded } from '../support/property-seed.ts'
import { assertNothingLost, assertWellAnswered, recovery, RECOVERED_WITHIN_MS } from '../support/recovery.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const STOP_MS = LONG ? 5_000 : 3_000
const RANDOM_FAULTS = Number(process.env['RANDOM_FAULTS'] ?? (LONG ? 100 : 6))
const LOAD_BEFORE_MS = 400
const LOAD_AFTER_MS = 400
const LARGEST_SEED = 2 ** 31

/** Milliseconds until all was well after the signal, or after it went on. */
type Recovered = { ms: number; seen: Seen }
type Cell = { target: Target; signal: FaultSignal; underLoad: boolean }
const CELLS = [false, true].flatMap((underLoad) =>
  TARGETS.flatMap((target) => SIGNALS.map((signal): Cell => ({ target, signal, underLoad }))),
)
const nameOf = ({ target, signal, underLoad }: Cell): string =>
  `${target} ${signal}${signal === 'SIGSTOP' ? ` for ${STOP_MS / 1_000} s` : ''} ${underLoad ? 'under load' : 'idle'}`

describe('a process that is struck', () => {
  const stacks: FaultStack[] = []
  let outcomes: Map<Cell, Promise<Recovered>>
  // The two halves have nothing in common, so they run side by side, each on servers of its own.
  before(async () => {
    const started = await Promise.allSettled([startFaultStack(), startFaultStack()])
    for (const one of started) if (one.status === 'fulfilled') stacks.push(one.value)
    for (const one of started) if (one.status === 'rejected') throw one.reason
    outcomes = new Map([...column(stacks[0]!, false), ...column(stacks[1]!, true)])
  })
  after(async () => {
    await Promise.allSettled(outcomes?.values() ?? [])
    await Promise.all(stacks.map((stack) => stack.stop()))
  })

  /** One fault after the other, also when one of them has failed. */
  const column = (stack: FaultStack, underLoad: boolean): [Cell, Promise<Recovered>][] => {
    let former: Promise<unknown> = Promise.resolve()
    return CELLS.filter((cell) => cell.underLoad === underLoad).map((cell) => {
      const outcome = former.then(() => recovered(stack, cell))
      former = outcome.catch(() => {})
      return [cell, outcome]
    })
  }

  for (const cell of CELLS) {
    it(`${nameOf(cell)}: nothing accepted is lost or stored twice, and it recovers`, async () => {
      const { ms, seen } = await outcomes.get(cell)!
      console.log(`${nameOf(cell)}: recovered within ${(ms / 1_000).toFixed(1)} s; ${describeSeen(seen)}`)
      assert.ok(ms < RECOVERED_WITHIN_MS)
    })
  }

  it(`${RANDOM_FAULTS} faults in a row under load`, async () => {
    await Promise.allSettled(outcomes.values())
    const stack = stacks[1]!
    const { seed } = seeded({ seed: randomInt(LARGEST_SEED) })
    console.log(`seed of the faults (FC_SEED): ${seed}`)
    const faults = fc.sample(randomFaults, { numRuns: RANDOM_FAULTS, ...(seed !== undefined && { seed }) })
    const load = startLoad(stack)
    for (const { target, signal, stopMs, thenMs } of faults) {
      await stack.strike(target, signal, stopMs)
      await pause(thenMs)
    }
    await load.stop()
    const ms = await recovery(stack, load.seen)
    console.log(`recovered within ${(ms / 1_000).toFixed(1)} s; ${describeSeen(load.seen)}`)
    assert.ok(ms < RECOVERED_WITHIN_MS)
    await assertNothingLost(stack, load.seen)
    assertWellAnswered(load.seen)
  })
})

const randomFaults = fc.record({
  target: fc.constantFrom(...TARGETS),
  signal: fc.constantFrom(...SIGNALS),
  stopMs: fc.integer({ min: 100, max: 2_500 }),
  thenMs: fc.integer({ min: 0, max: 1_500 }),
})

const describeSeen = ({ accepted, refused, unknown, slowestMs }: Seen): string =>
  `${accepted.size} accepted, ${refused} refused, ${unknown} without an answer, slowest ${(slowestMs / 1_000).toFixed(1)} s`

/** Strikes, and waits until all is well again. */
const recovered = async (stack: FaultStack, { target, signal, underLoad }: Cell): Promise<Recovered> => {
  const load: Load = underLoad ? startLoad(stack) : { seen: nothingSeen(), stop: () => Promise.resolve() }
  if (underLoad) await pause(LOAD_BEFORE_MS)
  const at = await stack.strike(target, signal, STOP_MS)
  const first = recovery(stack, load.seen, at)
  if (underLoad) await pause(LOAD_AFTER_MS)
  await load.stop()
  const ms = Math.max(await first, await recovery(stack, load.seen, at))
  await assertNothingLost(stack, load.seen)
  assertWellAnswered(load.seen)
  return { ms, seen: load.seen }
}
