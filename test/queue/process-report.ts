import type { ProcessReport } from '../../queue/jobs/process-reports.ts'

/** A report of a worker that has done nothing but this. */
export const processReport = (own: Partial<ProcessReport>): ProcessReport => ({
  id: 'a',
  kind: 'worker',
  accepted: 0,
  refused: 0,
  failed: 0,
  tagged: 0,
  stored: [],
  queues: [],
  applying: { total: 0, byWorkspace: {} },
  bodies: { bytes: 0, mostBytes: 0, refused: 0 },
  upSeconds: 0,
  loopDelaySeconds: 0,
  postgresSeconds: null,
  ...own,
})
