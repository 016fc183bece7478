import { v7 as newId } from 'uuid'
import { IDEMPOTENCY_SECONDS } from '../../contract/limits.ts'
import type { Idempotency, IdempotencyRecord, Operation } from '../../contract/submission.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { recordBegin, recordOf } from './idempotency.ts'
import { compactId, keysOfScript, MICROSECONDS_PER_MS, readCompactId } from '../keys.ts'
import { idBaseOf, type ItemParts, itemText, letterOf, placeOf, submissionIdIn } from '../log/log-entry.ts'
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
  /** A `peek` has found the key unused, so Postgres is not asked again. */
  isKeyUnused?: boolean
  /** Refuse the submission while its workspace has more waiting bytes than this. */
  mostBytes?: number
  /**
   * `peek`: only look up the idempotency key. `judge`: answer `admissible` instead of admitting the
   * submission and spending a token.
   */
  mode?: 'peek' | 'judge' | undefined
}

/** The state of the log before the request. */
export type LogState = {
  /** All earlier submissions are applied. */
  isLogEmpty: boolean
  /** An earlier identify of a contact, or an earlier conversation, is not applied. */
  isIdentifyWaiting: boolean
  /** An earlier purge is not applied. */
  isPurgeWaiting: boolean
}

/** `bucket` belongs to the operation's limit. Only a submission that enters the log spends a token. */
export type Admission =
  | ({
      outcome: 'admitted' | 'repeated'
      submissionId: string
      number: number
      bucket: Bucket | undefined
    } & LogState)
  | { outcome: 'rate-limited' | 'full' | 'admissible' | 'other-body'; bucket: Bucket | undefined }
  /** The submission is not in the log, or too few replicas have it. Do not confirm it. */
  | { outcome: 'unreplicated'; bucket: Bucket | undefined }
  /** The answer to a peek: the key is unused. */
  | ({ outcome: 'fresh' } & LogState)

/**
 * Rejects if Redis refuses the call or does not answer. The submission may be in the log all the
 * same, but do not confirm it. Requests of one workspace within a tick of the event loop keep their
 * order. Large bodies, and keys that are looked up in Postgres, may come later.
 */
export type Admit = (request: AdmissionRequest) => Promise<Admission>

/** The record of the idempotency key in Postgres; `nothing` also while Postgres is away. */
export type StoredKey = IdempotencyRecord | 'nothing'
export type ScriptRequest = AdmissionRequest & Pick<ItemParts, 'original'> & { known?: StoredKey | undefined }
/** `unknown-key`: only Postgres can tell whether the idempotency key was used before. */
export type ScriptAnswer = Admission | { outcome: 'unknown-key' }

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
  const [first, isEmpty, isIdentify, isPurge, isDeep, isLeased] = texts.at(-1)!.split(' ').map(Number)
  let isLogEmpty = isEmpty === 1
  let isIdentifyWaiting = isIdentify === 1
  const answers = requests.map(({ operation }, at): ScriptAnswer => {
    const state = { isLogEmpty, isIdentifyWaiting, isPurgeWaiting: isPurge === 1 }
    const answer = readAnswer(texts[at]!, submissionIdIn({ idBase, first: first! }, at + 1), state)
    if (answer.outcome === 'admitted') {
      isLogEmpty = false
      isIdentifyWaiting ||= IDENTIFYING.has(operation)
    }
    return answer
  })
  // No wake: a failover could lose the entry from the log after a worker has applied it.
  if (!isReplicated) return { answers: answers.map(unreplicated) }
  const submissions = answers.filter(({ outcome }) => outcome === 'admitted').length
  const isAwaited = isDeep === 0 && requests.some(({ operation }) => AWAITED.has(operation))
  if (submissions === 0 || (isLeased === 1 && !isAwaited)) return { answers }
  return { answers, toWake: { submissions, isDeep: isDeep === 1 } }
}

/** Operations that can change the contact of an external id or an email. */
const IDENTIFYING: ReadonlySet<Operation> = new Set(['identify_contact', 'submit_conversation'])

/**
 * Answers to later feedback may wait until these are applied. So they wake a worker even if it has
 * the lease: it may stay with the workspace, and would take the log only after its pace.
 */
const AWAITED: ReadonlySet<Operation> = new Set([...IDENTIFYING, 'purge_contact'])

const NO_BOUND = Number.MAX_SAFE_INTEGER
const UNSENT = { outcome: 'unreplicated', bucket: undefined } as const

const unreplicated = (answer: ScriptAnswer): ScriptAnswer =>
  answer.outcome === 'admitted' || answer.outcome === 'repeated'
    ? { outcome: 'unreplicated', bucket: answer.bucket }
    : answer

/** A request in the form of the script. JSON leaves out undefined members. */
const scriptArgument = (request: ScriptRequest, idBase: string, place: number) => {
  const { operation, mode, limit, idempotency, known } = request
  // The script assigns the number, which gives the id its time. `readFormer` inserts the time.
  const submissionId = submissionIdIn({ idBase, first: 0 }, place)
  return {
    operation,
    letter: letterOf(operation),
    mode,
    tokens: limit?.tokens,
    windowMs: limit?.windowMs,
    keyHash: idempotency?.key,
    bodyHash: idempotency?.body,
    known: known && (known === 'nothing' ? '' : recordOf(known)),
    recordBegin: idempotency && recordBegin({ body: idempotency.body, submissionId }),
  }
}

const readAnswer = (answer: string, submissionId: string, state: LogState): ScriptAnswer => {
  const [outcome, remaining, reset, number, former] = answer.split(' ')
  const bucket = readBucket(remaining!, reset!)
  switch (outcome as Exclude<ScriptAnswer['outcome'], 'unreplicated'>) {
    case 'fresh':
      return { outcome: 'fresh', ...state }
    case 'unknown-key':
      return { outcome: 'unknown-key' }
    case 'rate-limited':
    case 'full':
    case 'admissible':
    case 'other-body':
      return { outcome: outcome as 'full', bucket }
    case 'admitted':
      return { outcome: 'admitted', submissionId, number: Number(number), bucket, ...state }
    case 'repeated':
      return {
        outcome: 'repeated',
        submissionId: readFormer(readCompactId(former!), Number(number)),
        number: Number(number),
        bucket,
        ...state,
      }
  }
}

/** The id of a former submission. An id from the idempotency book lacks its time. */
const readFormer = (id: string, number: number): string => {
  if (!id.startsWith(NO_TIME)) return id
  const place = placeOf(id)
  return submissionIdIn({ idBase: idBaseOf(id), first: number - place + 1 }, place)
}

const NO_TIME = '00000000-0000-'

const readBucket = (remaining: string, resetMicroseconds: string): Bucket | undefined =>
  remaining === '-'
    ? undefined
    : { remaining: Math.max(0, Number(remaining)), resetMs: Math.ceil(Number(resetMicroseconds) / MICROSECONDS_PER_MS) }
