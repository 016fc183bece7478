import { NO_FIGURES, type ProcessReport } from '../../queue/jobs/process-reports.ts'

/** A report of an idle worker, with these members. */
export const processReport = (own: Partial<ProcessReport>): ProcessReport => ({
  ...NO_FIGURES,
  id: 'a',
  kind: 'worker',
  upSeconds: 0,
  ...own,
})
