import type { IdempotencyRecord } from '../contract/idempotency.ts'
import type { AdmissionRequest, Admit, Said } from './admission.ts'
import { type AskAdmission, type AskDependencies, askAdmissionsIn, type Known } from './ask-admission.ts'

/** With a larger body a submission is judged before it is sent, so that of a refused one no more reaches Redis. */
const SENT_AT_ONCE_CHARACTERS = 64 * 1024
/** For so long Postgres is asked first, once a book has been found not to have all keys of the last day. */
const ASK_FIRST_MS = 60_000

type Dependencies = AskDependencies & {
  /** Finds an idempotency key that has left the book in Redis; null when there is none, undefined while nobody can say. */
  findStoredKey: (workspaceId: string, key: string) => Promise<IdempotencyRecord | null | undefined>
}

/**
 * Decides whether a submission enters, and gives it its id and its acceptance number, strictly increasing in its workspace, whichever
 * process asks, and never at or below its floor. Once this resolves with `admitted`, the submission is accepted: its batch is on the books
 * and in the outbox, from where this process hands it over to a job, or another does if this one dies.
 */
export const admissionsIn = ({ findStoredKey, ...dependencies }: Dependencies): Admit => {
  const ask = askAdmissionsIn(dependencies)
  const askFirstUntil = new Map<string, number>()
  const knownOf = async ({ workspaceId, idempotency }: AdmissionRequest): Promise<Known> =>
    (await findStoredKey(workspaceId, idempotency!.key)) ?? 'nothing'

  return async (request) => {
    const { workspaceId, idempotency } = request
    const isAskedFirst = idempotency !== undefined && (askFirstUntil.get(workspaceId) ?? 0) > performance.now()
    const known = isAskedFirst ? await knownOf(request) : undefined
    const answer = await askInSteps(ask, { ...request, known })
    if (answer.outcome !== 'unknown-key') return answer
    askFirstUntil.set(workspaceId, performance.now() + ASK_FIRST_MS)
    const answered = await askInSteps(ask, { ...request, known: await knownOf(request) })
    if (answered.outcome === 'unknown-key') throw new Error('A known idempotency key is never unknown.')
    return answered
  }
}

type KnownRequest = AdmissionRequest & { known: Known | undefined }

const SAYS_NOTHING: Said = { sayings: { newIds: [], aboutKeys: [] }, lookUp: [] }

/**
 * Judging needs nothing of what a submission says: that can be as large as its body, and takes long to make. Only the answer to a
 * repeated one, which is seldom, looks something up.
 */
const askInSteps = async (ask: AskAdmission, request: KnownRequest): ReturnType<AskAdmission> => {
  const mayEnter = request.peek !== true && request.full !== true
  if (mayEnter && request.bodyText.length <= SENT_AT_ONCE_CHARACTERS) return ask(request)
  const judged = await ask({ ...request, bodyText: '', full: true, saidBy: () => SAYS_NOTHING })
  if (judged.outcome === 'repeated') return ask(mayEnter ? request : { ...request, bodyText: '' })
  return mayEnter && judged.outcome === 'full' ? ask(request) : judged
}
