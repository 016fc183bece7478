import { setPriority } from 'node:os'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { attackOf } from './heavy-bodies.ts'
import type { AttackOrder, AttackReport } from './attackers.ts'

// A separate process, so that making bodies delays neither the service nor the test. It reads its
// order as a word, sends until one of its bounds is reached, and answers with one line.

/** Attackers have their own machines, so this process must not take processors from the service. */
const LOW_PRIORITY = 10
const AFTER_REFUSAL_MS = 100

const order = JSON.parse(process.argv[2]!) as AttackOrder
setPriority(LOW_PRIORITY)

const report: AttackReport = { accepted: 0, bytes: 0, refused: {} }
const endsAt = performance.now() + order.seconds * 1_000
const isOver = (): boolean =>
  performance.now() > endsAt || report.accepted >= order.most || report.bytes > order.mostBytes
const requestAt = attackOf(order.attack)
let place = 0

const send = async (): Promise<void> => {
  const { path, body } = requestAt(place++)
  const answer = await fetch(`${order.url}/api/v1${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${order.token}`, 'Content-Type': 'application/json' },
    body,
  }).catch(() => undefined)
  await answer?.arrayBuffer()
  if (answer?.ok) {
    report.accepted++
    report.bytes += body.length
    return
  }
  const why = String(answer?.status ?? 'no answer')
  report.refused[why] = (report.refused[why] ?? 0) + 1
  await pause(AFTER_REFUSAL_MS)
}

await Promise.all(
  Array.from({ length: order.connections }, async () => {
    while (!isOver()) await send()
  }),
)
console.log(JSON.stringify(report))
process.exit(0)
