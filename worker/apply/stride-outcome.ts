import type { Removal, Submission } from '../../contract/submission.ts'
import type { Ending } from '../trace-jobs.ts'

/** Submissions of one workspace, ascending, with numbers above `after`. */
export type Stride = { workspaceId: string; after: number; submissions: readonly Submission[] }

/** What a worker did with the submissions of a stride. */
export type Done = {
  /** Submissions that this worker applied, with purges that matched nothing. */
  applied: { submission: Submission; state: 'applied' | 'superseded' }[]
  /** Submissions that were applied, decided or set aside before. */
  found: Submission[]
  /** Removals that matched something: contacts, records or dead submissions to remove. */
  decided: Removal[]
  /** The endings of the submissions that this worker set aside, by id. */
  dead: Map<string, Ending>
}

/** How a stride ended, and what was done until then. */
export type StrideOutcome = Done &
  /** All submissions up to `position` are applied or set aside. It can be less than the whole stride. */
  (
    | { end: 'applied'; position: number }
    /** The workspace is deleted. */
    | { end: 'deleted' }
    /** Postgres has lost its last commits: the log has to be read again from this position. */
    | { end: 'behind'; position: number }
    /**
     * The workspace goes on in the queue `backlog`, in a job of its own: the stride fails, or there
     * are records to move or to remove.
     */
    | { end: 'backlog' }
    /** The next submission failed. The next attempt comes after `ms`. */
    | { end: 'postponed'; position: number; ms: number }
  )

export const nothingDone = (): Done => ({ applied: [], found: [], decided: [], dead: new Map() })

/** The outcome of a stride whose first part had the outcome `first`. */
export const joinOutcomes = (first: Done, second: StrideOutcome): StrideOutcome => ({
  ...second,
  applied: [...first.applied, ...second.applied],
  found: [...first.found, ...second.found],
  decided: [...first.decided, ...second.decided],
  dead: new Map([...first.dead, ...second.dead]),
})

export const isWhole = (outcome: StrideOutcome, { submissions }: Pick<Stride, 'submissions'>): boolean =>
  outcome.end === 'applied' && outcome.position >= submissions.at(-1)!.number
