import { createInterface } from 'node:readline'
import { type Program, startProgram } from '../installation/program.ts'
import type { LoadOrder, LoadResult } from './order.ts'

export type LoadGenerator = {
  readonly pid: number
  /**
   * Sends one order at a time. Rejects when a connection breaks, or when a request was not
   * accepted.
   */
  readonly run: (order: LoadOrder) => Promise<LoadResult>
  /** The same, for an order with requests that may be refused. */
  readonly attempt: (order: LoadOrder) => Promise<LoadResult>
  /** Ends the running order before its time. */
  readonly cutShort: () => void
  readonly stop: Program['stop']
}

export const startLoadGenerator = async (): Promise<LoadGenerator> => {
  const program = await startProgram({ file: 'bench/load/main.ts', environment: {} })
  const answers = createInterface({ input: program.stdout })[Symbol.asyncIterator]()
  const attempt = async (order: LoadOrder): Promise<LoadResult> => {
    program.stdin.write(`${JSON.stringify(order)}\n`)
    const { value } = await answers.next()
    const answer = JSON.parse(String(value)) as LoadResult | { failed: string }
    if ('failed' in answer) throw new Error(`The load on ${order.url} broke off: ${answer.failed}`)
    return answer
  }
  return {
    pid: program.pid,
    attempt,
    run: async (order) => {
      const answer = await attempt(order)
      if (answer.refused > 0) throw new Error(`${order.url} refused ${answer.refused} of the requests`)
      return answer
    },
    cutShort: () => void program.stdin.write('stop\n'),
    stop: program.stop,
  }
}
