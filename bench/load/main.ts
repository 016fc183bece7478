import process from 'node:process'
import { createInterface } from 'node:readline'
import type { LoadOrder } from './order.ts'
import { runLoad } from './run-load.ts'

// The load generator is a process of its own, so that other work of the benchmark does not delay
// its requests. It reads one order per line, and answers each order with one line. The line "stop"
// ends the running order.
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
