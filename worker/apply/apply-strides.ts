import { load } from '../../db/apply/load.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { moveRecords, noChanges, type PositionAdvance, save } from '../../db/apply/save.ts'
import { type ApplyStores, type FoldedSegment, type Stride, type StrideResult, StrideWork } from './stride-work.ts'

/** More rounds without progress show a fault: the fold may ask for a key that is never loaded. */
const MOST_ROUNDS = 100

type Folded = { work: StrideWork; segment: FoldedSegment }

/**
 * Applies one stride of each workspace: loads the keys of the submissions, folds the submissions,
 * and saves the changes in one statement. It loads a workspace again for the next segment, if
 * another writer was faster, or if the fold needs more rows.
 *
 * @throws faults of Postgres, and an error if a stride makes no progress
 */
export const applyStrides = async (
  dependencies: ApplyStores,
  strides: readonly Stride[],
): Promise<Map<string, StrideResult>> => {
  const works = strides.map((stride) => new StrideWork(dependencies, stride))
  let left = works
  for (let round = 0; left.length > 0; round++) {
    if (round > MOST_ROUNDS) throw new Error(`A stride made no progress in ${MOST_ROUNDS} rounds.`)
    const before = left.map(({ position }) => position)
    const loaded = await load(
      dependencies.sql,
      left.map(({ keys }) => keys),
    )
    const folded: Folded[] = []
    for (const [at, work] of left.entries()) {
      const segment = await work.takeStep(loaded[at]!)
      if (segment !== undefined) folded.push({ work, segment })
    }
    if (folded.length > 0) await saveAll(dependencies.sql, folded)
    if (left.some(({ position }, at) => position !== before[at])) round = 0
    left = left.filter(({ result }) => result === undefined)
  }
  return new Map(works.map(({ stride, result }) => [stride.workspaceId, result!]))
}

/** Saves all folds in one statement, or none: then all workspaces are loaded again. */
const saveAll = async (sql: Sql, folded: readonly Folded[]): Promise<void> => {
  const changes = noChanges()
  const positions: PositionAdvance[] = []
  for (const [at, { work, segment }] of folded.entries()) {
    segment.fold.writeTo(changes, at + 1)
    const superseded = segment.fold.folded.filter(({ state }) => state === 'superseded').length
    const applied = segment.fold.folded.length - superseded
    positions.push({ w: at + 1, expected: work.position, position: segment.end, applied, superseded })
  }
  const workspaceIds = folded.map(({ work }) => work.stride.workspaceId)
  const saved = await save(sql, { workspaceIds, positions, changes, waits: folded.some(({ work }) => work.wasBusy) })
  switch (saved.outcome) {
    case 'busy':
      for (const w of saved.busy) folded[w - 1]!.work.wasBusy = true
      return
    case 'too-many':
      for (const { w, kind, id } of saved.profiles) folded[w - 1]!.work.noteTooMany({ kind, id })
      return
    case 'saved':
      for (const w of saved.moves) await moveRecords(sql, workspaceIds[w - 1]!)
      for (const { work, segment } of folded) work.noteSaved(segment)
  }
}
