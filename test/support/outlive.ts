import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ownWorkspace } from './own-workspace.ts'
import type { Service } from './service.ts'
import { assertEqualsModel, type HistoryService, submitHistory } from './submitted-history.ts'
import { describeWhere } from './where.ts'

/** So many are answered before the fault strikes. */
const BEFORE = 25
const SUBMISSIONS = 60
/**
 * The least time that submissions go on after the fault, so that some of them meet a service that
 * has just recovered.
 */
const AFTER_MS = 300

export type Rig = Pick<Service, 'sql' | 'redis' | 'redisPrefix' | 'environment' | 'urls'> & {
  /** Resolves when what a fault has ended is there again. */
  readonly isReady?: () => Promise<unknown>
  readonly stop: () => Promise<unknown>
}

/** `dead`: submissions that end dead, and no other does. */
type Struck = { readonly note?: string; readonly dead?: readonly string[] }

type Stop = () => Promise<unknown>

/** Ends one after the other, also when one of them fails. */
export const stopInTurn =
  (...stops: readonly Stop[]): (() => Promise<void>) =>
  async () => {
    await using all = new AsyncDisposableStack()
    for (const stop of stops.toReversed()) all.defer(async () => void (await stop()))
  }

/** Starts a service on servers, which end with it, or when it does not start. */
export const startOn = async <S extends { stop: Stop }, R extends { stop: Stop }>(
  servers: S,
  start: (servers: S) => Promise<R>,
): Promise<S & R> => {
  try {
    const rig = await start(servers)
    return { ...servers, ...rig, stop: stopInTurn(rig.stop, servers.stop) }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

/** A row of the fault matrix: what happens to a topology. */
export type Fault<R> = {
  readonly fault: string
  /**
   * Begins while submissions come in, and ends when the fault is over. `own` is their workspace.
   */
  readonly strike: (rig: R, own: HistoryService) => Promise<Struck | void>
  /** What happens before, while nothing is submitted. */
  readonly idle?: (rig: R) => Promise<unknown>
  readonly submissions?: number
  /** Left out where answers get lost (submitted-history.ts). */
  readonly purges?: boolean
  /** Whether each submission is accepted at the first attempt all the while. */
  readonly refusesNone?: boolean
  /** Whether Redis may forget submissions that are stored, so that its ledger knows of fewer. */
  readonly forgets?: boolean
  /** What else is true when all is settled. */
  readonly afterwards?: (rig: R, own: HistoryService) => Promise<unknown>
  /** Whether the next fault needs servers of its own. */
  readonly endsRig?: boolean
}

/**
 * One form for all faults: submits a random history in a workspace of its own while the fault
 * strikes, repeats what was not answered, and waits until all is settled. Then the rows equal the
 * model's, nothing is dead, and the ledger is exact.
 */
export const outlive = async <R extends Rig>(rig: R, row: Fault<R>): Promise<void> => {
  await row.idle?.(rig)
  const own = await ownWorkspace(rig)
  const begin = Promise.withResolvers<void>()
  let struck: Struck = {}
  const during = begin.promise.then(async () => {
    struck = (await row.strike(rig, own)) ?? {}
    await rig.isReady?.()
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
  console.log(`${row.fault}: ${confirmed.size} confirmed, ${refused} refused or not answered before${note}`)
}

/**
 * All faults of one topology, one after the other on the same servers, until one leaves these
 * unfit.
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
      it(`${row.fault}: what is confirmed is stored once, as the model has it`, async () => {
        rig ??= await start()
        try {
          await outlive(rig, row)
          if (row.endsRig) await end()
        } catch (error) {
          await end().catch(() => {})
          throw error
        }
      })
  })
