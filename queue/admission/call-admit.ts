import { v7 as newId } from 'uuid'
import { IDEMPOTENCY_SECONDS } from '../../contract/limits.ts'
import type { Idempotency, IdempotencyRecord, KeyState, Operation } from '../../contract/submission.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { readRecord, recordBegin } from './idempotency.ts'
import { compactId, keysOfScript, MICROSECONDS_PER_MS } from '../keys.ts'
import { idBaseOf, type ItemParts, itemText, letterOf, submissionIdIn } from '../log/log-entry.ts'
import type { WakeSize } from '../jobs/job-queues.ts'
import { luaScript } from '../redis/lua-script.ts'

/** Permits `tokens` submissions. A spent token comes back `windowMs` later. */
export type RateLimit = { tokens: number; windowMs: number }

/**
 * The state of a bucket. `remaining`: tokens. `resetMs`: the time until the next spent token comes
 * back; 0 if no token is spent.
 */
export type Bucket = { remaining: number; resetMs: number }

export type AdmissionRequest = {
  workspaceId: string
  operation: Operation
  /** The body as JSON. */
  bodyText: string
  traceparent?: string | undefined
  limit?: RateLimit | undefined
  idempotency?: Idempotency | undefined
  /** Refuse the submission while its workspace has more waiting bytes than this. */
  mostBytes?: number
  /** Look up the key, and answer `admissible` instead of admitting the submission. */
  isJudgedOnly?: boolean
  /**
   * The answer to this request when it was only judged. It stands, unless it is `admissible`: then
   * the submission is sent.
   */
  judged?: Admission | undefined
}

/** The state of the log before the request. */
export type LogState = {
  /** All earlier submissions are applied. */
  isLogEmpty: boolean
  /** An earlier identify of a contact, or an earlier conversation, is not applied. */
  isIdentifyWaiting: boolean
  /** An earlier purge is not applied. */
  isPurgeWaiting: boolean
  /** Redis knows of a purge or a deletion: own ids can be of another epoch. */
  hadPurges: boolean
}

/** `bucket` belongs to the operation's limit. Only a submission that enters the log spends a token. */
export type Admission =
  | ({
      outcome: 'admitted' | 'repeated'
      submissionId: string
      number: number
      bucket: Bucket | undefined
    } & LogState)
  | Judgement
  | { outcome: 'other-body'; bucket: Bucket | undefined }
  /** The submission is not in the log, or too few replicas have it. Do not confirm it. */
  | { outcome: 'unreplicated'; bucket: Bucket | undefined }

/** The submission is not in the log, and its key is unused. */
export type Judgement = { outcome: 'rate-limited' | 'full' | 'admissible'; bucket: Bucket | undefined } & LogState

/**
 * Crosses Redis at most twice, also when it first judges a request and then gets the answer as
 * `judged`.
 *
 * Rejects if Redis refuses the call or does not answer. The submission may be in the log all the
 * same, but do not confirm it. Requests of one workspace within a tick of the event loop keep their
 * order. Large bodies, and keys that are looked up in Postgres, may come later.
 */
export type Admit = (request: AdmissionRequest) => Promise<Admission>

/**
 * `keyState`: the state of the key in Postgres, `unknown` before a look-up there. With `isJudged`,
 * the submission is not admitted, and its body not needed.
 */
export type ScriptRequest = Omit<AdmissionRequest, 'isJudgedOnly' | 'judged'> &
  Pick<ItemParts, 'original'> & { keyState: 'unused' | 'unknown'; isJudged?: boolean }

/**
 * For an unknown key: the answer if the key is unused, and the number up to which former keys have
 * expired.
 */
export type ScriptAnswer =
  | { keyState: 'unused' | 'former'; admission: Admission }
  | { keyState: 'unknown'; admission: Judgement; expiredNumber: number }

/**
 * `texts`: one for each request, then one about the log; undefined if nothing was sent, since too
 * few replicas answered lately.
 */
export type SendResult = { texts: string[] | undefined; isReplicated: boolean }
/** Sends the arguments of admit.lua. */
export type SendAdmit = (keysAndArguments: readonly (string | number)[]) => Promise<SendResult>

export const ADMIT = luaScript('admit', ['log', 'idempotency-record'])
export const KEYS_OF_ADMIT = 2
type RedisWithAdmit = RedisClient & { admit(...keysAndArguments: (string | number)[]): Promise<string[]> }

export const createSendAdmit = (redis: RedisClient): SendAdmit => {
  redis.defineCommand('admit', { lua: ADMIT, numberOfKeys: KEYS_OF_ADMIT })
  return async (keysAndArguments) => ({
    texts: await (redis as RedisWithAdmit).admit(...keysAndArguments),
    isReplicated: true,
  })
}

/** `toWake` is absent if no worker has to be woken. */
type CallResult = { answers: ScriptAnswer[]; toWake?: WakeSize }

/** Calls admit.lua for requests of one workspace. */
export const callAdmit = async (
  { prefix, send }: { prefix: string; send: SendAdmit },
  { workspaceId, floor }: { workspaceId: string; floor: number },
  requests: readonly ScriptRequest[],
): Promise<CallResult> => {
  const { keys, begin } = keysOfScript(prefix, workspaceId)
  const idBase = idBaseOf(newId())
  const mostBytes = requests.reduce((least, request) => Math.min(least, request.mostBytes ?? least), NO_BOUND)
  const appendedAgain = requests.filter(({ original }) => original !== undefined).length
  const settings = [begin, floor, IDEMPOTENCY_SECONDS, compactId(idBase), Math.floor(mostBytes), appendedAgain]
  const requestsAndItems = [
    JSON.stringify(requests.map((request, at) => scriptArgument(request, idBase, at + 1))),
    ...requests.map(itemText),
  ]
  const { texts, isReplicated } = await send([...keys, ...settings, ...requestsAndItems])
  if (texts === undefined) return { answers: requests.map(() => UNSENT) }
  const [first, isEmpty, isIdentify, isPurge, isDeep, mustWake, hadPurges] = texts.at(-1)!.split(' ').map(Number)
  let isLogEmpty = isEmpty === 1
  let isIdentifyWaiting = isIdentify === 1
  const answers = requests.map((request, at): ScriptAnswer => {
    const log = { isLogEmpty, isIdentifyWaiting, isPurgeWaiting: isPurge === 1, hadPurges: hadPurges === 1 }
    const answer = readAnswer(texts[at]!, request, { idBase, first: first!, place: at + 1, log })
    if (answer.admission.outcome === 'admitted') {
      isLogEmpty = false
      isIdentifyWaiting ||= IDENTIFYING.has(request.operation)
    }
    return answer
  })
  // No wake: a failover could lose the entry from the log after a worker has applied it.
  if (!isReplicated) return { answers: answers.map(unreplicated) }
  const submissions = answers.filter(({ admission }) => admission.outcome === 'admitted').length
  if (submissions === 0 || mustWake === 0) return { answers }
  return { answers, toWake: { submissions, isDeep: isDeep === 1 } }
}

/** Operations that can change the contact of an external id or an email. */
const IDENTIFYING: ReadonlySet<Operation> = new Set(['identify_contact', 'submit_conversation'])

const NO_BOUND = Number.MAX_SAFE_INTEGER
const UNSENT: ScriptAnswer = { keyState: 'unused', admission: { outcome: 'unreplicated', bucket: undefined } }

const unreplicated = (answer: ScriptAnswer): ScriptAnswer => {
  const { outcome, bucket } = answer.admission
  const isConfirmed = outcome === 'admitted' || outcome === 'repeated' || answer.keyState === 'unknown'
  return isConfirmed ? { keyState: 'unused', admission: { outcome: 'unreplicated', bucket } } : answer
}

/** A request in the form of the script. JSON leaves out undefined members. */
const scriptArgument = (request: ScriptRequest, idBase: string, place: number) => {
  const { operation, isJudged, limit, idempotency, keyState } = request
  // The script assigns the number, which gives the id its time. `readRecord` inserts the time.
  const submissionId = submissionIdIn({ idBase, first: 0 }, place)
  return {
    operation,
    letter: letterOf(operation),
    isJudged,
    tokens: limit?.tokens,
    windowMs: limit?.windowMs,
    keyHash: idempotency?.key,
    keyState: idempotency && keyState,
    recordBegin: idempotency && recordBegin({ body: idempotency.body, submissionId }),
  }
}

type PlaceInCall = { idBase: string; first: number; place: number; log: LogState }

const readAnswer = (text: string, { idempotency }: ScriptRequest, call: PlaceInCall): ScriptAnswer => {
  const [key, outcomeOrRecord, remaining, reset] = text.split(' ')
  const judged = { bucket: readBucket(remaining!, reset!), ...call.log }
  const keyState = key as KeyState['state']
  if (keyState === 'former')
    return { keyState, admission: admissionOfFormer(readRecord(outcomeOrRecord!), idempotency!, judged) }
  const outcome = outcomeOrRecord as Judgement['outcome'] | 'admitted'
  if (outcome === 'admitted') {
    const submissionId = submissionIdIn(call, call.place)
    return { keyState: 'unused', admission: { outcome, submissionId, number: call.first + call.place - 1, ...judged } }
  }
  const admission: Judgement = { outcome, ...judged }
  if (keyState === 'unused') return { keyState, admission }
  return { keyState, admission, expiredNumber: call.first - IDEMPOTENCY_SECONDS * 1_000 * MICROSECONDS_PER_MS }
}

/** The answer to a request whose idempotency key belongs to a former submission. */
export const admissionOfFormer = (
  { body, submissionId, number }: IdempotencyRecord,
  idempotency: Idempotency,
  judged: Omit<Judgement, 'outcome'>,
): Admission =>
  body === idempotency.body
    ? { ...judged, outcome: 'repeated', submissionId, number }
    : { outcome: 'other-body', bucket: judged.bucket }

const readBucket = (remaining: string, resetMicroseconds: string): Bucket | undefined =>
  remaining === '-'
    ? undefined
    : { remaining: Math.max(0, Number(remaining)), resetMs: Math.ceil(Number(resetMicroseconds) / MICROSECONDS_PER_MS) }
