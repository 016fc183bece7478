import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import process from 'node:process'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as fc from 'fast-check'
import { DEAR_INTAKES, type DearIntake, maxBytesOf } from '../support/dear-intakes.ts'
import { takeIn } from '../support/app-without-stores.ts'
import { seeded } from '../support/property-seed.ts'
import { describeWhere } from '../support/where.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
/** The number of families of bodies that the search tries. */
const TRIED = LONG ? 300 : 2

/** A cost is measured with a body of at most this many bytes, and with a quarter of its bytes. */
const LARGE_BYTES = 1024 * 1024
const TIMES = 4
/**
 * In a body with four times the bytes, a byte may cost at most this many times as much. With a
 * quadratic cost, the byte would cost four times as much.
 */
const MOST_GROWTH = 3
/**
 * Shorter times are noise. This is the least time of the small body, and is added to the time of
 * JSON.
 */
const FIXED_MS = 10
const ROUNDS = 2
/** Other work on the machine seldom disturbs so many measurements in a row. */
const TRIES = 4

/**
 * The bound of the cost, as a multiple of JSON.parse and JSON.stringify for the same bytes. It is
 * about four times the highest measured multiple.
 */
const MOST_TIMES_JSON = 12
/** A contact can be named in ten bytes, and the hashes of its keys cost far more than their JSON. */
const MOST_TIMES_JSON_WITH_KEYS = 150
/** The titles of families that name contacts. */
const WITH_KEYS = /contact|senders/

/** JSON.parse alone takes up to 50 bytes of memory for each byte of empty objects. */
const MOST_MEMORY_PER_BYTE = 100
/** The memory that a runtime takes before it collects garbage. */
const FIXED_MEMORY_BYTES = 64 * 1024 * 1024

const MICROSECONDS_PER_MS = 1_000

type Cost = { ms: number; jsonMs: number; bytes: number }

/** The processor time that this process spends on the work. */
const spentMs = async (work: () => unknown): Promise<number> => {
  const former = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(former)
  return (user + system) / MICROSECONDS_PER_MS
}

/** The least of several rounds: a disturbance only adds to a round. */
const costOf = async ({ operation, text }: DearIntake, most: number): Promise<Cost> => {
  const given = text(most)
  const bytes = new TextEncoder().encode(given)
  const cost: Cost = { ms: Infinity, jsonMs: Infinity, bytes: bytes.byteLength }
  for (let round = 0; round < ROUNDS; round++) {
    const copy = bytes.slice()
    cost.ms = Math.min(cost.ms, await spentMs(() => takeIn(operation, copy)))
    cost.jsonMs = Math.min(cost.jsonMs, await spentMs(() => parseAndWrite(given)))
  }
  return cost
}

const parseAndWrite = (text: string): void => {
  try {
    JSON.stringify(JSON.parse(text))
  } catch {
    // Some families are not JSON. Then only the time until the error counts.
  }
}

type Price = { growth: number; timesJson: number; msPerMb: number }

const priceOf = async (intake: DearIntake): Promise<Price> => {
  const most = Math.min(LARGE_BYTES, maxBytesOf(intake.operation))
  const [small, large] = [await costOf(intake, most / TIMES), await costOf(intake, most)]
  return {
    growth: large.ms / large.bytes / (Math.max(small.ms, FIXED_MS) / small.bytes),
    timesJson: large.ms / (large.jsonMs + FIXED_MS),
    msPerMb: (large.ms / large.bytes) * 1e6,
  }
}

const assertCheap = async (intake: DearIntake): Promise<Price> => {
  const mostTimesJson = WITH_KEYS.test(intake.title) ? MOST_TIMES_JSON_WITH_KEYS : MOST_TIMES_JSON
  for (let left = TRIES; ; left--) {
    const price = await priceOf(intake)
    if (price.growth < MOST_GROWTH && price.timesJson < mostTimesJson) return price
    assert.ok(left > 1, `${intake.title}: ${priceText(price)}`)
  }
}

const priceText = ({ growth, timesJson, msPerMb }: Price): string =>
  `${msPerMb.toFixed(0)} ms a megabyte, ${timesJson.toFixed(1)} times JSON, ${growth.toFixed(2)} times as much a byte for ${TIMES} times the bytes`

/** The families with the highest cost in time. */
const DEAREST = [
  'too many messages that are empty',
  'contacts of emails',
  'messages of infinite numbers',
  'sourceData, small objects',
  'sourceData to unflatten, dotted keys',
  'a conversation, keys of U+0000',
].map((title) => DEAR_INTAKES.find((intake) => intake.title === title)!)

const DEAREST_IN_MEMORY = ['too many messages that are none', 'a conversation, empty objects']

describe('the cost of the intake of a body, for each byte,', () => {
  for (const intake of DEAREST) {
    it(`is little: ${intake.title}`, async () => console.log(priceText(await assertCheap(intake))))
  }

  it(`is little in ${TRIED} random families`, async () => {
    let worst: Price & { title: string } = { growth: 0, timesJson: 0, msPerMb: 0, title: '' }
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...DEAR_INTAKES), async (intake) => {
        const price = await assertCheap(intake)
        if (price.timesJson > worst.timesJson) worst = { ...price, title: intake.title }
      }),
      seeded({ numRuns: TRIED }),
    )
    console.log(`${priceText(worst)}: ${worst.title}`)
  })
})

const MISSING = existsSync('/proc/self/status') ? undefined : 'there is no /proc'

describeWhere('the memory for the intake of a body', MISSING, () => {
  for (const title of LONG ? DEAR_INTAKES.map((intake) => intake.title) : DEAREST_IN_MEMORY) {
    it(`is in proportion to its bytes: ${title}`, () => {
      const program = fileURLToPath(new URL('../support/intake-memory-main.ts', import.meta.url))
      const runtime = process.versions['deno'] === undefined ? [] : ['run', '--allow-all', '--no-check']
      const { stdout, stderr } = spawnSync(process.execPath, [...runtime, program, title], { encoding: 'utf8' })
      const { operation, text } = DEAR_INTAKES.find((intake) => intake.title === title)!
      const bytes = new TextEncoder().encode(text(maxBytesOf(operation))).byteLength
      const taken = Number.parseInt(stdout)
      console.log(`${(taken / bytes).toFixed(0)} bytes for a byte`)
      assert.ok(taken < FIXED_MEMORY_BYTES + MOST_MEMORY_PER_BYTE * bytes, `${taken} bytes for ${bytes}${stderr}`)
    })
  }
})
