import { createHash } from 'node:crypto'
import { buildBodies, type Submission } from './build-bodies.ts'
import type { Service } from './find-service.ts'
import { openJournal, refusedIn } from './journal.ts'
import { type Kind, RECORDS } from './kinds.ts'
import type { Mapping } from './mapping.ts'
import { type ProgressOutput, startProgressBar } from '../progress-bar.ts'
import type { InputFile } from './input-file.ts'
import { type BadRow, isBadRow, readRows } from './read-rows.ts'
import { postTo } from './post.ts'
import { createSender } from './send.ts'
import type { Survey } from './survey-file.ts'

export type Import = {
  readonly file: InputFile
  readonly mapping: Mapping
  readonly survey: Survey
  readonly service: Service
  readonly journalPath: string
  /** Requests under way at most. */
  readonly atOnce: number
  readonly output: ProgressOutput
  readonly now: () => number
  readonly wait: (ms: number) => Promise<void>
  /**
   * Ends the import in order: requests under way are finished, the rest is left to the next run.
   */
  readonly stop: AbortSignal
}

export type Summary = {
  readonly accepted: number
  /** How many of the accepted were accepted by former runs. */
  readonly before: number
  readonly refused: readonly BadRow[]
  readonly left: number
}

const MS_PER_SECOND = 1_000
const SUBMISSIONS_PER_REQUEST = 100

/**
 * Submits the submissions of a file that no former run has settled.
 *
 * @throws ImportError when it cannot go on; the next run continues from there
 */
export const importFile = async (given: Import): Promise<Summary> => {
  const { file, mapping, survey, service, output, now } = given
  const mappingHash = sha256(JSON.stringify(mapping))
  const subject = { fileHash: file.hash, mappingHash, url: service.url }
  const journal = openJournal(given.journalPath, subject)
  const before = journal.settled.size - refusedIn(journal).length
  const bar = startProgressBar({ label: mapping.kind, total: survey.total, output, now, from: journal.settled.size })
  const send = createSender({
    service,
    post: postTo(service, given.atOnce),
    now,
    wait: (ms) => orAborted(given.wait(ms), given.stop),
    onWait: (ms, reason) => bar.note(`${reason}: waiting ${Math.ceil(ms / MS_PER_SECOND)} s`),
  })
  const settle = async (submission: Submission): Promise<void> => {
    const key = `import-${sha256(`${file.hash} ${mappingHash} ${submission.line}`)}`
    const { path, operation } = RECORDS[mapping.kind]
    const outcome = await send({ path, operation, body: submission.body, key })
    journal.note(submission.line, outcome.outcome === 'refused' ? outcome.reasons : undefined)
    bar.set(journal.settled.size)
  }
  try {
    const submissions = unsettled(buildBodies(readRows(file), mapping), journal.settled)
    await sendSome(submissions, settle, { stop: given.stop, mostUnderWay: mostUnderWay(mapping.kind, given.atOnce) })
  } catch (error) {
    if (!given.stop.aborted) throw error
  } finally {
    bar.end()
    journal.close()
  }
  const refusedByService = refusedIn(journal)
  return {
    accepted: journal.settled.size - refusedByService.length,
    before,
    refused: [...survey.unreadable, ...refusedByService].sort((one, other) => one.line - other.line),
    left: survey.total - journal.settled.size,
  }
}

const unsettled = async function* (
  items: AsyncIterable<Submission | BadRow>,
  settled: ReadonlyMap<number, unknown>,
): AsyncGenerator<Submission> {
  for await (const item of items) if (!isBadRow(item) && !settled.has(item.line)) yield item
}

/**
 * Sends so many submissions at a time. Two with the same id are sent one after the other, so that
 * the later one is accepted later. After a failure nothing more is begun, and the requests under
 * way are waited for.
 */
const sendSome = async (
  submissions: AsyncIterable<Submission>,
  settle: (submission: Submission) => Promise<void>,
  { mostUnderWay: most, stop }: { mostUnderWay: number; stop: AbortSignal },
): Promise<void> => {
  const underWay = new Set<Promise<void>>()
  const ofId = new Map<string, Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  for await (const submission of submissions) {
    while (underWay.size >= most) await Promise.race(underWay)
    if (submission.id !== undefined) await ofId.get(submission.id)
    if (failure !== undefined || stop.aborted) break
    const id = submission.id
    const sent: Promise<void> = settle(submission)
      .catch((error: unknown) => void (failure ??= { error }))
      .finally(() => {
        underWay.delete(sent)
        if (id !== undefined && ofId.get(id) === sent) ofId.delete(id)
      })
    underWay.add(sent)
    if (id !== undefined) ofId.set(id, sent)
  }
  await Promise.all(underWay)
  if (failure !== undefined) throw failure.error
}

/**
 * How many fill the requests that may be under way. Conversations have a limit that a batch would
 * run into.
 */
const mostUnderWay = (kind: Kind, atOnce: number): number =>
  kind === 'conversations' || atOnce === 1 ? atOnce : atOnce * SUBMISSIONS_PER_REQUEST

const orAborted = (promise: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('The import was stopped.'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
