import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ownWorkspace } from './own-workspace.ts'
import type { Service } from './service.ts'
import { assertEqualsModel, type HistoryService, submitHistory } from './submitted-history.ts'
import { describeWhere } from './where.ts'

/** The number of answered requests before the fault. */
const BEFORE = 25
const SUBMISSIONS = 60
/** Submissions go on for this long after the fault, so that some reach a recovered service. */
const AFTER_MS = 300

export type Rig = Pick<Service, 'sql' | 'redis' | 'redisPrefix' | 'environment' | 'urls'> & {
  /** Resolves when the programs that a fault has ended run again. */
  readonly untilReady?: () => Promise<unknown>
  readonly stop: () => Promise<unknown>
}

/** `dead`: the only submissions that become dead. */
type Struck = { readonly note?: string; readonly dead?: readonly string[] }

/** A row of the fault matrix: a fault of a topology. */
export type Fault<R> = {
  readonly fault: string
  /** Strikes while submissions arrive in the workspace `own`. Resolves when the fault is over. */
  readonly strike: (rig: R, own: HistoryService) => Promise<Struck | void>
  /** Prepares the fault before submissions arrive. */
  readonly prepare?: (rig: R) => Promise<unknown>
  readonly submissions?: number
  /**
   * Whether the history has purges. It must have none if answers get lost (submitted-history.ts).
   */
  readonly purges?: boolean
  /** Whether the API accepts each submission except purges at the first attempt. */
  readonly refusesNone?: boolean
  /** Whether Redis may forget stored submissions, so that its ledger counts fewer. */
  readonly forgets?: boolean
  /** Further checks when all submissions are settled. */
  readonly afterwards?: (rig: R, own: HistoryService) => Promise<unknown>
  /** Whether the next fault needs new servers. */
  readonly endsRig?: boolean
}

/**
 * Tests the faults of one topology on the same servers. After a failed test or a fault with
 * `endsRig`, the next test starts new servers.
 */
export const describeFaults = <R extends Rig>(
  topology: string,
  { start, rows, missing }: { start: () => Promise<R>; rows: readonly Fault<R>[]; missing?: string | undefined },
): void =>
  describeWhere(topology, missing, () => {
    let rig: R | undefined
    const end = async (): Promise<void> => {
      const ended = rig
      rig = undefined
      await ended?.stop()
    }
    after(end)
    for (const row of rows)
      it(`${row.fault}: confirmed submissions are stored once, with the rows of the model`, async () => {
        rig ??= await start()
        try {
          await testFault(rig, row)
          if (row.endsRig) await end()
        } catch (error) {
          await end().catch(() => {})
          throw error
        }
      })
  })

/**
 * Submits a random history in a new workspace during the fault, repeats unanswered requests, and
 * waits until all submissions are settled. Then compares the rows with the model's, compares the
 * dead submissions with those of the fault, and checks the ledger.
 */
const testFault = async <R extends Rig>(rig: R, row: Fault<R>): Promise<void> => {
  await row.prepare?.(rig)
  const own = await ownWorkspace(rig)
  const begin = Promise.withResolvers<void>()
  let struck: Struck = {}
  const during = begin.promise.then(async () => {
    struck = (await row.strike(rig, own)) ?? {}
    await rig.untilReady?.()
    await pause(AFTER_MS)
  })
  const { confirmed, refused } = await submitHistory(own, row.submissions ?? SUBMISSIONS, {
    during,
    ...(row.purges !== undefined && { purges: row.purges }),
    answered: (count) => {
      if (count === BEFORE) begin.resolve()
    },
  })
  await assertEqualsModel(own, confirmed, { dead: struck.dead ?? [], ledgerMayLack: row.forgets === true })
  if (row.refusesNone) assert.equal(refused, 0, 'refused')
  await row.afterwards?.(rig, own)
  const note = struck.note === undefined ? '' : `; ${struck.note}`
  console.log(`${row.fault}: ${confirmed.size} confirmed, ${refused} attempts refused or not answered${note}`)
}
