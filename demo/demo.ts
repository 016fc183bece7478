import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { demoReport, storedSoFar } from './demo-report.ts'
import { describeFault } from '../runtime/fault.ts'
import { startProgressBar } from '../cli/progress-bar.ts'
import { bypassProxies } from '../runtime/bypass-proxies.ts'
import { printHelp } from '../runtime/print-help.ts'
import { connectPostgres } from '../db/connection/postgres.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { createDemoData, DEMO_SOURCE, readReviews } from './demo-data.ts'
import type { DemoData, Submission } from './demo-data.ts'
import { describeReport } from './describe-report.ts'
import { findService } from './find-service.ts'
import type { Service } from './find-service.ts'
import { Refused, submitAll, Unreachable } from './submit.ts'

const NOT_RUNNING =
  'The service is not running. Start it in another terminal with `npm start`, then run the demo again.'
const POLL_MS = 250
/** Without progress for this long, processing has stopped. */
const MAX_STANDSTILL_MS = 60_000
const STATEMENT_TIMEOUT_MS = 30_000

/** Fills a running service with feedback and shows the stored records. Returns the exit code. */
const runDemo = async (): Promise<number> => {
  const service = findService(process.env)
  if (service === undefined || !(await answers(service))) throw new Unreachable()
  const data = createDemoData(readReviews(), new Date())
  await submitPhase('Accounts', data.accounts, service)
  await submitPhase('Contacts', data.contacts, service)
  await submitPhase('Feedback', data.feedback, service)
  await submitPhase('Conversations', data.conversations, service)
  const sql = connectPostgres(service.databaseUrl, {
    connections: 3,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'feedback-demo',
  })
  try {
    await untilProcessed(sql, data)
    console.log(`\n${describeReport(await demoReport(sql, DEMO_SOURCE))}`)
    console.log('\nFor a report about topics, accounts and changes: npm run report -- --out report.html')
  } finally {
    await sql.end()
  }
  return 0
}

/** Any answer shows that the service runs; the submissions show whether it works. */
const answers = ({ url }: Service): Promise<boolean> => {
  return fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  )
}

const submitPhase = async (label: string, submissions: readonly Submission[], service: Service): Promise<void> => {
  const bar = startProgressBar({ label, total: submissions.length, output: process.stdout })
  let done = 0
  await submitAll(submissions, {
    service,
    fetch,
    wait: (seconds) => wait(seconds * 1_000),
    onWait: (seconds, reason) => bar.note(`${reason}: waiting ${seconds} s`),
    onDone: () => bar.set(++done),
  }).finally(() => bar.end())
}

const untilProcessed = async (sql: Sql, { feedback, conversations }: DemoData): Promise<void> => {
  const expected = 2 * feedback.length + conversations.length
  const bar = startProgressBar({ label: 'Stored, tagged', total: expected, output: process.stdout })
  let done = -1
  let lastProgress = Date.now()
  while (done < expected) {
    const stored = await storedSoFar(sql, DEMO_SOURCE)
    const now = stored.feedback + stored.tagged + stored.conversations
    if (now !== done) lastProgress = Date.now()
    if (Date.now() - lastProgress > MAX_STANDSTILL_MS) {
      bar.end()
      throw new Refused(
        `No submission has been processed for ${MAX_STANDSTILL_MS / 1_000} s. Check that a worker runs: npm run doctor`,
      )
    }
    done = now
    bar.set(done)
    if (done < expected) await wait(POLL_MS)
  }
  bar.end()
}

const explain = (error: unknown): number => {
  if (error instanceof Unreachable) console.error(NOT_RUNNING)
  else if (error instanceof Refused) console.error(error.message)
  // The driver's errors carry the statement and its values.
  else console.error(`The demo failed: ${describeFault(error)}`)
  return 1
}

printHelp(`usage: npm run demo
Submits reviews to the service that runs in DATA_DIR, or at FEEDBACK_URL, and shows what was stored.`)
bypassProxies(process.env)
process.exitCode = await runDemo().catch(explain)
