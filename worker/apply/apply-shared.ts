import { beginStride, endStride } from '../trace-jobs.ts'
import { applySplitting } from './apply-faults.ts'
import {
  type ApplyOutcome,
  isApplied,
  noteTimes,
  outcomeOf,
  type StrideDependencies,
  type TakenStride,
} from './apply-outcome.ts'
import { followUp } from './follow-up.ts'

/** Applies strides of several workspaces together, and follows them up. */
export const applyShared = async (
  dependencies: StrideDependencies,
  strides: readonly TakenStride[],
): Promise<ApplyOutcome[]> => {
  const { quarantine, tracing } = dependencies
  const spans = beginStride(
    tracing,
    'wake',
    strides.flatMap(({ submissions }) => submissions),
  )
  const { applied, failing, ms } = await quarantine.shared(async () => {
    const beganAt = performance.now()
    return { ...(await applySplitting(dependencies, strides)), ms: performance.now() - beganAt }
  })
  const bounds = noteTimes(dependencies, strides, ms)
  const followed = [...applied].map(([workspaceId, result]) => ({ workspaceId, results: [result].filter(isApplied) }))
  endStride(spans, await followUp(dependencies, { followed, spans, isDeep: false }))
  return strides.map(({ workspaceId }, at) =>
    failing.includes(workspaceId)
      ? { kind: 'failing', workspaceId }
      : outcomeOf(workspaceId, applied.get(workspaceId), bounds[at]),
  )
}
