import type { HashKey } from '../../contract/identity/keys.ts'
import type { Submission } from '../../contract/submission.ts'
import type { StrideStore } from '../../db/apply/stride-store.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { decidePurge } from '../../db/purges/decide-purge.ts'
import type { StoredState } from '../../fold/stored.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { loadWhole, nextSegment, nextStep, type Step } from './next-step.ts'
import type { Segment } from './segment.ts'
import { nothingDone, type Done, type Stride, type StrideOutcome } from './stride-outcome.ts'

/** More rounds without progress show a fault: the fold may ask for a key that is never loaded. */
const MOST_ROUNDS = 100
/** Steps that move or remove records. All of them together take some seconds. */
const MOST_STEPS = 20

export type StrideStores = {
  sql: Sql
  hashKey: HashKey
  /** Loads and saves of strides. */
  store: StrideStore
  answerWithinMs?: number
  /** Workspaces with a known purge. The first load of their strides includes epochs. */
  purgedWorkspaces: Set<string>
}

/** The work on a stride. */
type Work = {
  position: number
  due: readonly Submission[]
  segment: Segment
  /** Another writer held the workspace, so the next save waits for it. */
  waits: boolean
  /** The last save or step has left records to move. */
  hasMoves: boolean
  done: Done
}

/**
 * Applies a stride of one workspace: loads the keys of a segment, takes the step that follows from
 * the stored rows, and repeats. A purge cuts the stride into segments. Another load follows if the
 * fold needs more rows, or if another writer was faster. `isShared`: strides of other workspaces
 * wait for this one, so it moves and removes no records. A stride with many records to move or to
 * remove goes on in another job. Until all are moved, its position is not noted in Redis: so a worker
 * goes on with them, even if no submission follows.
 *
 * @throws faults of Postgres, and an error if the stride makes no progress
 */
export const applyStride = async (
  stores: StrideStores,
  stride: Stride,
  { isShared }: { isShared: boolean },
): Promise<StrideOutcome> => {
  const work = beginWork(stores, stride)
  let stepsLeft = MOST_STEPS
  for (let round = 0; round <= MOST_ROUNDS; round++) {
    const step = await answered(stores, findStep(stores, work))
    if (step.do === 'end') return endOf(work.done, step)
    if (isShared && step.do === 'part') return { ...work.done, end: 'backlog' }
    if (step.do === 'move' || step.do === 'remove')
      if (isShared || --stepsLeft < 0) return { ...work.done, end: 'backlog' }
    const isProgress = await answered(stores, doStep(stores, work, step))
    if (work.due.length === 0 && !work.hasMoves) return { ...work.done, end: 'applied', position: work.position }
    if (isProgress) round = 0
  }
  throw new Error(`A stride made no progress in ${MOST_ROUNDS} rounds.`)
}

/** A step whose answer does not come counts as an outage of Postgres: its connection may hang. */
const answered = <T>({ answerWithinMs }: StrideStores, step: Promise<T>): Promise<T> =>
  answerWithinMs === undefined ? step : withinTime(step, answerWithinMs)

const findStep = async (stores: StrideStores, work: Work): Promise<Step> => {
  if (work.hasMoves) return { do: 'move' }
  const { position: known, segment } = work
  const { keys, realm } = segment
  const stored = await stores.store.load(realm.workspaceId, { keys })
  noteStored(stores, work, stored)
  return nextStep({ known, due: work.due, segment }, stored)
}

const endOf = (done: Done, step: Extract<Step, { do: 'end' }>): StrideOutcome =>
  step.end === 'deleted' ? { ...done, end: step.end } : { ...done, end: step.end, position: step.position }

/** Does a step. Returns whether it made progress: it applied, moved or removed something. */
const doStep = async (stores: StrideStores, work: Work, step: Exclude<Step, { do: 'end' }>): Promise<boolean> => {
  const { workspaceId } = work.segment.realm
  switch (step.do) {
    case 'load':
      work.segment = step.segment
      return false
    case 'move':
      work.hasMoves = await stores.store.moveRecords(workspaceId)
      return true
    case 'remove':
      return stores.store.removeRecords(workspaceId)
    case 'part':
      return savePart(stores, work, step)
    case 'decide':
      return decide(stores, work, step)
    case 'save':
      return save(stores, work, step)
  }
}

const beginWork = (stores: StrideStores, { workspaceId, after, submissions }: Stride): Work => ({
  position: after,
  due: submissions,
  segment: nextSegment({ hashKey: stores.hashKey, workspaceId }, submissions, stores.purgedWorkspaces.has(workspaceId)),
  waits: false,
  hasMoves: false,
  done: nothingDone(),
})

/** Notes the loaded position. Submissions at or below it were applied before. */
const noteStored = (stores: StrideStores, work: Work, { position, hadPurges }: StoredState): void => {
  if (position === undefined || position < work.position) return
  if (hadPurges) stores.purgedWorkspaces.add(work.segment.realm.workspaceId)
  work.done.found.push(...work.due.filter(({ number }) => number <= position))
  goOn(work, position)
}

const goOn = (work: Work, position: number): void => {
  work.position = position
  work.due = work.due.filter(({ number }) => number > position)
}

const decide = async (
  stores: StrideStores,
  work: Work,
  { purge }: Extract<Step, { do: 'decide' }>,
): Promise<boolean> => {
  const outcome = await decidePurge(stores, purge, work.position)
  if (outcome === 'busy') return false
  if (outcome === 'decided') work.done.decided.push(purge)
  else work.done.applied.push({ submission: purge, state: 'applied' })
  stores.purgedWorkspaces.add(work.segment.realm.workspaceId)
  goOnAfter(stores, work, purge.number)
  return true
}

const save = async (
  stores: StrideStores,
  work: Work,
  { fold, end, skipped }: Extract<Step, { do: 'save' }>,
): Promise<boolean> => {
  const { segment, position, waits, done } = work
  const { workspaceId } = segment.realm
  const superseded = fold.folded.filter(({ state }) => state === 'superseded').length
  const counts = { applied: fold.folded.length - superseded, superseded }
  const saved = await stores.store.save(workspaceId, {
    expected: position,
    position: end,
    ...counts,
    changes: fold.changes(),
    waits,
  })
  switch (saved.outcome) {
    case 'busy':
      work.waits = true
      return false
    case 'too-many':
      work.segment = loadWhole(segment, saved.profiles)
      return false
    case 'saved':
      done.applied.push(...fold.folded.map(({ submission, state }) => ({ submission, state })))
      done.found.push(...skipped)
      work.hasMoves = saved.hasMoves
      goOnAfter(stores, work, end)
      return true
  }
}

const savePart = async (
  stores: StrideStores,
  work: Work,
  { changes, segment }: Extract<Step, { do: 'part' }>,
): Promise<boolean> => {
  const { position, waits } = work
  const counts = { expected: position, position, applied: 0, superseded: 0 }
  const { outcome } = await stores.store.save(segment.realm.workspaceId, { ...counts, changes, waits })
  work.waits = outcome !== 'saved'
  if (outcome === 'saved') work.segment = segment
  return outcome === 'saved'
}

/** This worker is done with all submissions up to the position. */
const goOnAfter = ({ purgedWorkspaces }: StrideStores, work: Work, position: number): void => {
  goOn(work, position)
  work.waits = false
  const { realm } = work.segment
  work.segment = nextSegment(realm, work.due, purgedWorkspaces.has(realm.workspaceId))
}
