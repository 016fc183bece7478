import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { readPosition } from '../../db/submissions/position.ts'
import { applyStrides } from '../support/apply-strides.ts'
import { parsed } from '../model/submission-arbitrary.ts'
import { families, DEAREST, type Dearest } from '../support/dearest-bodies.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, hashKey, makeWorkspaces, type TestSchema } from '../support/schema.ts'
import { clearTables } from '../support/tables.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
/** The number of families that the search tries. */
const TRIED = LONG ? 400 : 4
/** From about this size, the cost of a statement is proportional to its bytes. */
const SIZE = 40
const TIMES = 4
/**
 * With `TIMES` the bytes, a byte may cost at most this many times as much. A quadratic cost would
 * give four times.
 */
const MOST_GROWTH = 3
/** A lower cost of the smaller size counts as this much: most of a low cost is fixed. */
const FIXED_MS = 40
/**
 * The numbers of submissions in a stride. With 20, the smaller size takes several strides in most
 * families. Then a stride can move records of an earlier stride.
 */
const STRIDE_SIZES = [200, 20]

/** A short run measures three families, which the seed chooses. */
const SHORT = { minLength: 3, maxLength: 3 }
const MEASURED = LONG ? DEAREST : fc.sample(fc.subarray([...DEAREST], SHORT), seeded({ numRuns: 1 }))[0]!

const workspaceId = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09'
const MS_PER_NS = 1e-6

type Cost = { ms: number; bytes: number }

describe(`the work of Postgres to apply each byte, with ${TIMES} times the bytes,`, () => {
  let schema: TestSchema
  let backend: number
  let number = 1_000_000

  before(async () => {
    schema = await freshSchema(1)
    await makeWorkspaces(schema.sql, [workspaceId])
    backend = (await schema.sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]!.pid
  })
  after(() => schema.drop())

  /** Processor time of the connection if the system has it, else elapsed time. */
  const spentMs = (): number => {
    try {
      return Number(readFileSync(`/proc/${backend}/schedstat`, 'utf8').split(' ')[0]) * MS_PER_NS
    } catch {
      return performance.now()
    }
  }

  const costOf = async ({ submissions }: Dearest, size: number, perStride: number): Promise<Cost> => {
    await clearTables(schema.sql)
    const submitted = submissions(size, `n${size}`)
    const made = submitted.map(({ operation, body }) =>
      // JSON leaves out undefined members.
      parsed({
        workspaceId,
        submissionId: randomUUID(),
        number: ++number,
        operation,
        body: JSON.parse(JSON.stringify(body)),
      }),
    )
    let position = (await readPosition(schema.sql, workspaceId))!
    const former = spentMs()
    for (let at = 0; at < made.length; at += perStride) {
      const stride = { workspaceId, after: position, submissions: made.slice(at, at + perStride) }
      const result = (await applyStrides({ sql: schema.sql, hashKey }, [stride])).get(workspaceId)
      assert.ok(result?.end === 'applied')
      position = result.position
    }
    return { ms: spentMs() - former, bytes: JSON.stringify(submitted).length }
  }

  /**
   * The cost of a byte at `TIMES` the size, divided by its cost at `SIZE`. Other programs on the
   * machine can raise it, so the least of up to three measurements counts.
   */
  const growthOf = async (dearest: Dearest, perStride: number): Promise<{ growth: number; msPerMb: number }> => {
    let least = { growth: Infinity, msPerMb: Infinity }
    for (let time = 0; time < 3 && least.growth >= MOST_GROWTH; time++) {
      const [small, large] = [await costOf(dearest, SIZE, perStride), await costOf(dearest, SIZE * TIMES, perStride)]
      const growth = large.ms / large.bytes / (Math.max(small.ms, FIXED_MS) / small.bytes)
      if (growth < least.growth) least = { growth, msPerMb: (large.ms / large.bytes) * 1e6 }
    }
    return least
  }

  for (const dearest of MEASURED) {
    it(`is less than ${MOST_GROWTH} times as much: ${dearest.title}`, async () => {
      for (const perStride of dearest.perStatement === undefined ? STRIDE_SIZES : [STRIDE_SIZES[0]!]) {
        const { growth, msPerMb } = await growthOf(dearest, perStride)
        console.log(`${perStride} a stride: ${msPerMb.toFixed(0)} ms a megabyte, ${growth.toFixed(2)} times`)
        assert.ok(growth < MOST_GROWTH, `${growth} times as much for a byte, ${perStride} a stride`)
      }
    })
  }

  it(`is less than ${MOST_GROWTH} times as much in ${TRIED} random families`, async () => {
    let worst = { growth: 0, msPerMb: 0, title: '' }
    let dear = worst
    await fc.assert(
      fc.asyncProperty(families, fc.constantFrom(...STRIDE_SIZES), async (family, perStride) => {
        const found = { ...(await growthOf(family, perStride)), title: family.title }
        if (found.growth > worst.growth) worst = found
        if (found.msPerMb > dear.msPerMb) dear = found
        assert.ok(
          found.growth < MOST_GROWTH,
          `${found.growth} times as much for a byte, ${perStride} a stride: ${family.title}`,
        )
      }),
      seeded({ numRuns: TRIED }),
    )
    for (const { growth, msPerMb, title } of [worst, dear])
      console.log(`${msPerMb.toFixed(0)} ms a megabyte, ${growth.toFixed(2)} times: ${title}`)
  })
})
