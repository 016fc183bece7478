import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { findService } from '../cli/import/find-service.ts'
import { ImportError } from '../cli/import/import-error.ts'
import { startProgressBar } from '../cli/progress-bar.ts'
import { CommandError, print, runCommand } from '../cli/run-command.ts'
import { type BatchItem, type Client, createClient, RequestError } from '../client/client.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { createDemoData, DEMO_SOURCES, readReviews } from './demo-data.ts'

const USAGE = `usage: npm run demo
Submits example records to the service that runs in DATA_DIR, and waits until the feedback has tags.
For another service, set FEEDBACK_URL, FEEDBACK_TOKEN and DATABASE_URL.`

const ITEMS_AT_ONCE = 100
/** Longer than the minute of the limit of conversations. */
const PATIENCE_MS = 90_000
const POLL_MS = 250
/** Without progress for this long, processing has stopped. */
const MAX_STANDSTILL_MS = 60_000

const runDemo = async (sql: Sql): Promise<void> => {
  const data = createDemoData(readReviews(), new Date())
  const service = await findService({}, process.env)
  const formerNumber = await newestNumber(sql)
  const submitted = [...data.accounts, ...data.contacts, ...data.feedback, ...data.conversations]
  const bar = startProgressBar({ label: 'Submitted', total: submitted.length, output: process.stdout })
  const client = createClient({
    ...service,
    patienceMs: PATIENCE_MS,
    onWait: ({ ms, status }) =>
      bar.note(`${status === undefined ? 'no answer' : 'the service is busy'}: waiting ${Math.ceil(ms / 1_000)} s`),
  })
  for (let at = 0; at < submitted.length; at += ITEMS_AT_ONCE) {
    await submit(client, submitted.slice(at, at + ITEMS_AT_ONCE))
    bar.set(at + ITEMS_AT_ONCE)
  }
  bar.end()
  await untilTagged(sql, { formerNumber, total: data.feedback.length })
  print(
    '\nThe feedback has the sources demo and demo-survey in the workspace of your token. docs/queries.md has questions to ask.',
  )
  print(
    'To read it as people do, open /insights on the same host and port. As one file: npm run report -- --out report.html',
  )
}

/** A repeated batch does no harm, since every record has its own id. */
const submit = async (client: Client, items: readonly BatchItem[]): Promise<void> => {
  const refused = (await client.submitBatch(items)).find(({ status }) => status >= 300)
  if (refused)
    throw new CommandError(`The service refused a record (${refused.status}): ${JSON.stringify(refused.body)}`)
}

/**
 * The newest acceptance number of the stored feedback of the demo. An earlier run has left the same
 * feedback, with tags, until this run replaces it.
 */
const newestNumber = async (sql: Sql): Promise<string> => {
  const [{ newest }] = await sql<[{ newest: string }]>`
    select coalesce(max(number), 0)::text as newest from feedback where source = any (${DEMO_SOURCES})`
  return newest
}

const untilTagged = async (
  sql: Sql,
  { formerNumber, total }: { formerNumber: string; total: number },
): Promise<void> => {
  const bar = startProgressBar({ label: 'Stored, tagged', total, output: process.stdout })
  let done = -1
  let lastProgress = Date.now()
  while (done < total) {
    const [{ tagged }] = await sql<[{ tagged: number }]>`
      select count(*)::int as tagged from feedback
      where source = any (${DEMO_SOURCES}) and tags is not null and number > ${formerNumber}`
    if (tagged !== done) lastProgress = Date.now()
    if (Date.now() - lastProgress > MAX_STANDSTILL_MS)
      throw new CommandError(
        `No submission has been processed for ${MAX_STANDSTILL_MS / 1_000} s. Check that a worker runs: npm run doctor`,
      )
    done = tagged
    bar.set(done)
    if (done < total) await wait(POLL_MS)
  }
  bar.end()
}

await runCommand({
  usage: USAGE,
  run: ({ sql }) =>
    runDemo(sql).catch((error: unknown) => {
      const isExplained = error instanceof ImportError || error instanceof RequestError
      throw isExplained ? new CommandError(error.message) : error
    }),
})
