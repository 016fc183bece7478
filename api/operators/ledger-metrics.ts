import type { Ledger } from '../../contract/ledger.ts'
import type { ProcessMetrics } from '../../runtime/metrics.ts'

const LEDGER_STATES = ['accepted', 'queued', 'applied', 'superseded', 'purged', 'dead'] as const

/** Registers the metrics of the ledgers. */
export const registerLedgers = ({ gauge }: ProcessMetrics, ledgers: () => readonly Ledger[]): void => {
  gauge(
    {
      name: 'feedback_insights_ledger',
      help: 'Submissions of a workspace: accepted, and by state.',
      labels: ['workspace', 'state'],
    },
    () =>
      shownOf(ledgers()).flatMap((ledger) =>
        LEDGER_STATES.map((state) => ({ labels: { workspace: ledger.workspaceId, state }, value: ledger[state] })),
      ),
  )
  gauge(
    {
      name: 'feedback_insights_ledger_difference',
      help: 'Accepted less all states; it can be below 0 while workers apply submissions. Above 0 for long: data was lost.',
      labels: ['workspace'],
    },
    () =>
      shownOf(ledgers()).map(({ workspaceId, difference }) => ({
        labels: { workspace: workspaceId },
        value: difference,
      })),
  )
}

/** With more workspaces, the metrics have the ledgers that an operator looks at first. */
const LEDGERS_SHOWN = 1_000

const shownOf = (ledgers: readonly Ledger[]): readonly Ledger[] => {
  if (ledgers.length <= LEDGERS_SHOWN) return ledgers
  const urgency = ({ difference, dead, queued }: Ledger): number => (difference !== 0 ? 2 : dead + queued > 0 ? 1 : 0)
  return ledgers
    .toSorted((one, other) => urgency(other) - urgency(one) || other.accepted - one.accepted)
    .slice(0, LEDGERS_SHOWN)
}
