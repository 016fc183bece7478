import process from 'node:process'
import { createInterface } from 'node:readline'
import type { LoadOrder } from './order.ts'
import { runLoad } from './run-load.ts'

// The load generator is a separate process, so that its processor time is counted apart and delays
// no other program. It reads one order a line, or the word "stop" for the running order, and
// answers each with a line.
let stop = new AbortController()

const carryOut = async (order: LoadOrder): Promise<void> => {
  stop = new AbortController()
  const answer = await runLoad(order, stop.signal).catch((error: unknown) => ({ failed: String(error) }))
  console.log(JSON.stringify(answer))
}

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'stop') stop.abort()
  else void carryOut(JSON.parse(line) as LoadOrder)
})
console.log(JSON.stringify({ event: 'working' }))
