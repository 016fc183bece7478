import type { Service } from './service.ts'
import { until } from './until.ts'

export type Bystander = {
  /** The number of its applied submissions. */
  readonly served: () => number
  /** The outcomes of submissions that were not accepted, or not applied at the first attempt. */
  readonly failed: readonly string[]
  /** Resolves when the last one is applied. */
  readonly stop: () => Promise<void>
}

const PEOPLE = 20

/**
 * A client that sends a feedback, waits until it is applied (at most `patienceMs`), and sends the
 * next one.
 */
export const startBystander = ({ post, sql }: Pick<Service, 'post' | 'sql'>, patienceMs: number): Bystander => {
  const stopped = new AbortController()
  const failed: string[] = []
  let served = 0
  const submitOne = async (): Promise<void> => {
    const contact = { email: `bystander-${served % PEOPLE}@example.com` }
    const answer = await post('/feedbacks', { description: 'Nothing to do with it', tags: [], contact })
    if (answer.status !== 201) return void failed.push(`answered ${answer.status} ${answer.text}`)
    const findReceipt = async () => {
      const [row] = await sql<{ state: string; attempts: number }[]>`
        select state, attempts from submission
        where id = ${answer.headers.get('Submission-Id')} and state <> 'queued'`
      return row
    }
    const { state, attempts } = await until('the receipt of a bystander', findReceipt, patienceMs)
    if (state === 'applied' && attempts === 1) served++
    else failed.push(`${state} at attempt ${attempts}`)
  }
  const sending = (async () => {
    while (!stopped.signal.aborted) await submitOne().catch((error: unknown) => failed.push(String(error)))
  })()
  return {
    served: () => served,
    failed,
    stop: async () => {
      stopped.abort()
      await sending
    },
  }
}
