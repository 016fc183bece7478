import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import { type FaultStack, startFaultStack, type Target, TARGETS } from '../support/fault-stack.ts'
import { type FaultSignal, SIGNALS } from '../support/kept-process.ts'
import { outlive } from '../support/outlive.ts'
import { seeded } from '../support/property-seed.ts'
import type { Confirmed } from '../support/submitted-history.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const STOP_MS = LONG ? 5_000 : 3_000
const RANDOM_FAULTS = Number(process.env['RANDOM_FAULTS'] ?? (LONG ? 100 : 6))
const LARGEST_SEED = 2 ** 31

type Cell = { target: Target; signal: FaultSignal; underLoad: boolean }
const CELLS = [false, true].flatMap((underLoad) =>
  TARGETS.flatMap((target) => SIGNALS.map((signal): Cell => ({ target, signal, underLoad }))),
)
const nameOf = ({ target, signal, underLoad }: Cell): string =>
  `${target} ${signal}${signal === 'SIGSTOP' ? ` for ${STOP_MS / 1_000} s` : ''} ${underLoad ? 'under load' : 'idle'}`

/** An API that ends, and a Redis that is away or hangs, lose answers. */
const losesAnswers = (target: Target): boolean => target === 'api' || target === 'redis'

describe('a service one of whose processes is struck', () => {
  const stacks: FaultStack[] = []
  let outcomes: Map<Cell, Promise<Confirmed>>
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
  const column = (stack: FaultStack, underLoad: boolean): [Cell, Promise<Confirmed>][] => {
    let former: Promise<unknown> = Promise.resolve()
    return CELLS.filter((cell) => cell.underLoad === underLoad).map((cell) => {
      const outcome = former.then(() => outliveCell(stack, cell))
      former = outcome.catch(() => {})
      return [cell, outcome]
    })
  }

  for (const cell of CELLS) {
    it(`${nameOf(cell)}: what is confirmed around it is stored as the model has it`, async () => {
      const { size } = await outcomes.get(cell)!
      assert.ok(size > 0)
      console.log(`${nameOf(cell)}: ${size} confirmed`)
    })
  }

  it(`${RANDOM_FAULTS} faults in a row under load: what is confirmed around them is stored as the model has it`, async () => {
    await Promise.allSettled(outcomes.values())
    const stack = stacks[1]!
    const { seed } = seeded({ seed: randomInt(LARGEST_SEED) })
    console.log(`seed of the faults (FC_SEED): ${seed}`)
    const faults = fc.sample(randomFaults, { numRuns: RANDOM_FAULTS, ...(seed !== undefined && { seed }) })
    const strike = async (): Promise<void> => {
      for (const { target, signal, stopMs, thenMs } of faults) {
        await stack.strike(target, signal, stopMs)
        await pause(thenMs)
      }
    }
    const { size } = await outlive(stack, { strike, purges: false })
    console.log(`${size} confirmed`)
  })
})

const randomFaults = fc.record({
  target: fc.constantFrom(...TARGETS),
  signal: fc.constantFrom(...SIGNALS),
  stopMs: fc.integer({ min: 100, max: 2_500 }),
  thenMs: fc.integer({ min: 0, max: 1_500 }),
})

const outliveCell = async (stack: FaultStack, { target, signal, underLoad }: Cell): Promise<Confirmed> => {
  const strike = () => stack.strike(target, signal, STOP_MS)
  if (underLoad) return outlive(stack, { strike, purges: !losesAnswers(target) })
  await strike()
  await stack.isReady()
  return outlive(stack, { strike: () => Promise.resolve() })
}
