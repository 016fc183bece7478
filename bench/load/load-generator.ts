import { createInterface } from 'node:readline'
import { type Program, startProgram } from '../installation/program.ts'
import type { LoadOrder, LoadResult } from './order.ts'

export type LoadGenerator = {
  /**
   * Call this for one order at a time. Rejects when a connection breaks, or when a request was not
   * accepted.
   */
  readonly run: (order: LoadOrder) => Promise<LoadResult>
  /** Ends the running order before its time. */
  readonly cutShort: () => void
  readonly stop: Program['stop']
}

export const startLoadGenerator = async (): Promise<LoadGenerator> => {
  const program = await startProgram({ file: 'bench/load/main.ts', environment: {} })
  const answers = createInterface({ input: program.stdout })[Symbol.asyncIterator]()
  return {
    run: async (order) => {
      program.stdin.write(`${JSON.stringify(order)}\n`)
      const { value } = await answers.next()
      const answer = JSON.parse(String(value)) as LoadResult | { failed: string }
      if ('failed' in answer) throw new Error(`The load on ${order.url} broke off: ${answer.failed}`)
      if (answer.refused > 0) throw new Error(`${order.url} refused ${answer.refused} of the requests`)
      return answer
    },
    cutShort: () => void program.stdin.write('stop\n'),
    stop: program.stop,
  }
}
