import { createHash } from 'node:crypto'
import { untilAborted } from '../../runtime/within-time.ts'
import { type ProgressOutput, startProgressBar } from '../progress-bar.ts'
import { buildBodies, isRemark, type ImportSubmission } from './build-bodies.ts'
import type { ServiceAccess } from './find-service.ts'
import { type Journal, openJournal } from './journal.ts'
import type { Lines, Remark } from './lines.ts'
import type { Mapping } from './mapping.ts'
import { createSender, mostPerRequest } from './send.ts'
import type { SourceFile } from './source-file.ts'

type Import = {
  readonly file: SourceFile
  readonly mapping: Mapping
  /** The number of submissions in the file. */
  readonly total: number
  readonly service: ServiceAccess
  readonly journalPath: string
  /** The most requests under way. */
  readonly atOnce: number
  readonly output: ProgressOutput
  /** Ends the import. The next run sends requests under way again, under their keys. */
  readonly stop: AbortSignal
}

export type ImportSummary = {
  readonly accepted: number
  readonly acceptedLines: readonly Lines[]
  /** The number of accepted submissions that earlier runs have sent. */
  readonly before: number
  readonly refused: readonly Remark[]
  readonly left: number
}

const MS_PER_SECOND = 1_000

/**
 * Sends the submissions of a file that are not in the journal.
 *
 * @throws ImportError when it cannot continue; the next run continues from there
 */
export const importFile = async (given: Import): Promise<ImportSummary> => {
  const { file, mapping, total, service, output, atOnce, stop } = given
  const journal = openJournal(given.journalPath, { mappingHash: sha256(JSON.stringify(mapping)), url: service.url })
  const bar = startProgressBar({ label: mapping.kind, total, output, now: Date.now })
  const tally: ImportTally = { accepted: [], refused: [], before: 0 }
  try {
    const send = await createSender({
      service,
      kind: mapping.kind,
      atOnce,
      onWait: (ms, reason) => bar.note(`${reason}: waiting ${Math.ceil(ms / MS_PER_SECOND)} s`),
    })
    const sendOne = async (submission: Keyed): Promise<void> => {
      const reasons = await send({ body: submission.body, key: `import-${submission.key}` })
      if (stop.aborted) return
      journal.note(submission.key, reasons)
      bar.set(count(tally, submission, reasons))
    }
    const most = atOnce === 1 ? 1 : atOnce * mostPerRequest(mapping.kind)
    const submissions = withoutAnswered(keyed(buildBodies(file.rows(), mapping)), journal, tally)
    await Promise.race([sendAll(submissions, sendOne, most), untilAborted(stop)])
    // Reads the rest of the file after a stop as well, to count what earlier runs have sent.
    submissions.forEach(() => {})
  } finally {
    bar.end()
    journal.close()
  }
  const { accepted, refused, before } = tally
  const left = total - accepted.length - refused.length
  return { accepted: accepted.length, acceptedLines: accepted.flat(), before, refused, left }
}

/** The outcome of the submissions of the file, in this run and in earlier ones. */
type ImportTally = { readonly accepted: (readonly Lines[])[]; readonly refused: Remark[]; before: number }

const count = ({ accepted, refused }: ImportTally, { lines }: Keyed, reasons: readonly string[]): number => {
  if (reasons.length > 0) refused.push({ lines, reasons })
  else accepted.push(lines)
  return accepted.length + refused.length
}

/** Leaves out the answered submissions, and counts them. */
const withoutAnswered = function* (all: Iterable<Keyed>, { answered }: Journal, tally: ImportTally): Generator<Keyed> {
  for (const submission of all) {
    const reasons = answered.get(submission.key)
    if (reasons === undefined) yield submission
    else {
      count(tally, submission, reasons)
      if (reasons.length === 0) tally.before++
    }
  }
}

type Keyed = ImportSubmission & { readonly key: string }

/** The key of a submission is a hash of its body. Further submissions with this body add a number. */
const keyed = function* (items: Iterable<ImportSubmission | Remark>): Generator<Keyed> {
  const counts = new Map<string, number>()
  for (const item of items) {
    if (isRemark(item)) continue
    const hash = sha256(item.body)
    const number = (counts.get(hash) ?? 0) + 1
    counts.set(hash, number)
    yield { ...item, key: number === 1 ? hash : `${hash}-${number}` }
  }
}

/**
 * Sends up to `most` submissions at a time. Submissions with the same id are sent one after the
 * other, in the order of the file. After a failure, this begins no further request, and waits for
 * the requests under way.
 */
const sendAll = async (
  submissions: Iterable<Keyed>,
  sendOne: (submission: Keyed) => Promise<void>,
  most: number,
): Promise<void> => {
  const underWay = new Set<Promise<void>>()
  const ofId = new Map<string, Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  for (const submission of submissions) {
    const { id } = submission
    while (underWay.size >= most) await Promise.race(underWay)
    if (id !== undefined) await ofId.get(id)
    if (failure !== undefined) break
    const sent: Promise<void> = sendOne(submission)
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

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')
