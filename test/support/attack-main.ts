import { Buffer } from 'node:buffer'
import { setPriority } from 'node:os'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Operation } from '../../contract/submission.ts'
import { PATHS } from '../end-to-end/interface-table.ts'
import { type AttackOrder, type AttackReport, ONE_EMAIL } from './attackers.ts'
import { DEAR_INTAKES, maxBytesOf } from './dear-intakes.ts'
import { DEAREST, type Submitted } from './dearest-bodies.ts'

// A separate process, so that making bodies delays neither the service nor the test. Its argument
// is an `AttackOrder`. It sends until a bound is reached, and prints an `AttackReport`.

/** A real attacker has a machine of its own, so this process must not slow down the service. */
const LOW_PRIORITY = 10
const AFTER_REFUSAL_MS = 100
/** Some submissions are dear only after others of their family, so a family has many. */
const DEAREST_SIZE = 50

type Request = { operation: Operation; body: string }
const FEEDBACK = '{"description":"Heavy","tags":[],"contact":{"email":"shared@example.com"}}'

const requestsOf = (attack: string): (() => Request) => {
  if (attack === ONE_EMAIL) return () => ({ operation: 'create_feedback', body: FEEDBACK })
  const intake = DEAR_INTAKES.find(({ title }) => title === attack)
  if (intake !== undefined) {
    const { operation, text } = intake
    const body = text(maxBytesOf(operation))
    return () => ({ operation, body })
  }
  const { submissions } = DEAREST.find(({ title }) => title === attack)!
  let rounds = 0
  let left: Submitted[] = []
  return () => {
    if (left.length === 0) left = submissions(DEAREST_SIZE, `n${rounds++}`).toReversed()
    const { operation, body } = left.pop()!
    return { operation, body: JSON.stringify(body) }
  }
}

const order = JSON.parse(process.argv[2]!) as AttackOrder
setPriority(LOW_PRIORITY)

const report: AttackReport = { accepted: 0, bytes: 0, refused: {} }
const endsAt = performance.now() + order.seconds * 1_000
const isOver = (): boolean =>
  performance.now() > endsAt || report.accepted >= order.most || report.bytes > order.mostBytes
const nextRequest = requestsOf(order.attack)

const send = async (): Promise<void> => {
  const { operation, body } = nextRequest()
  const answer = await fetch(`${order.url}/api/v1${PATHS[operation as keyof typeof PATHS]}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${order.token}`, 'Content-Type': 'application/json' },
    body,
  }).catch(() => undefined)
  await answer?.arrayBuffer()
  if (answer?.ok) {
    report.accepted++
    report.bytes += Buffer.byteLength(body)
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
