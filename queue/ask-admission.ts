import { createHash } from 'node:crypto'
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import type { ChainableCommander } from 'ioredis'
import { v7 as newId } from 'uuid'
import type { QueuedFactsByKey } from '../contract/identity/queued-facts.ts'
import type { IdempotencyRecord } from '../contract/idempotency.ts'
import { QUEUE_OF } from '../contract/job.ts'
import { IDEMPOTENCY_SECONDS } from '../contract/limits.ts'
import type { BatchQueueName } from '../contract/queues.ts'
import { coalesce } from '../process/coalesce.ts'
import type { Admission, AdmissionRequest, Bucket, Said } from './admission.ts'
import { BACKLOG_BEYOND } from './backlog.ts'
import { batchIdOf, itemText, letterOf, submissionIdIn } from './batch.ts'
import { isRefusedByRedis, onNewConnection, type RedisClient } from './connect-redis.ts'
import type { HandOver } from './hand-over.ts'
import { recordBegin, recordOf } from './idempotency.ts'
import { compactId, keysOfScript, MICROSECONDS_PER_MS, readCompactId } from './keys.ts'
import { luaScript } from './lua-script.ts'
import { factsByKey, factsOf, type RawFacts } from './queued-facts.ts'

/** What Postgres knows about the idempotency key. */
export type Known = IdempotencyRecord | 'nothing'
type AskedRequest = AdmissionRequest & { known?: Known | undefined }

/** `unknown-key`: whether the idempotency key was here before cannot be told without `known`. */
export type AskAdmission = (request: AskedRequest) => Promise<Asking>
type Asking = Admission | { outcome: 'unknown-key' }

export type AskDependencies = {
  /** With `replicas`, for admissions alone: they hold up what is sent behind them. */
  redis: RedisClient
  prefix: string
  handOver: HandOver
  /** No number of a workspace at or below its floor is given; 0 when left out. */
  floorOf?: (workspaceId: string) => Promise<number>
  /** Nothing counts as admitted before so many replicas of its Redis have it; 0 when left out. */
  replicas?: number
}

/** What became of a submission, its fields between spaces; then a place, exists and facts for each key about which something is queued. */
type ScriptAnswer = string | [fields: string, ...facts: (number | string | string[])[]]
type Answered = [...answers: ScriptAnswer[], follows: 'backlog' | 'nothing' | 'no purge' | 'purge']
type RedisWithAdmit = RedisClient & { admit(...keysAndArguments: (string | number)[]): Promise<Answered> }

export const ADMIT = luaScript('admit', ['facts', 'existing', 'idempotency-record', 'keep-for'])
const ADMIT_SHA1 = createHash('sha1').update(ADMIT).digest('hex')
const NEVER = { bytes: Number.MAX_SAFE_INTEGER, submissions: Number.MAX_SAFE_INTEGER }
const KEYS_OF_ADMIT = 2
/** As many as wait at a time may wait one after the other before a command has taken too long. */
const REPLICATED_WITHIN_MS = 500
/** So many calls at a time, of whatever workspaces: one that waits for replicas holds up those behind it, each of which then waits as long. */
const REPLICATED_AT_ONCE = 3
/** For so long nothing is sent that replicas would have to have, once too few of them had something in time. */
const ASK_AGAIN_AFTER_MS = 1_000

/**
 * Asks admit.lua about submissions. Requests of one workspace and queue that are in flight together share a call, and those that enter
 * are a batch. A purge goes alone, so that no batch lies on both sides of one.
 */
export const askAdmissionsIn = (dependencies: AskDependencies): AskAdmission => {
  const calling = { ...dependencies, callAdmit: callingAdmit(dependencies) }
  const askTogether = new Map<string, AskAdmission>()
  const admit = (dependencies.replicas ?? 0) === 0 ? admitTogether : admitReplicated()
  return (request) => {
    const { workspaceId } = request
    const queue = QUEUE_OF[request.operation]
    const name = `${workspaceId} ${queue}`
    let ask = askTogether.get(name)
    if (!ask) {
      ask = coalesce((requests) => admit(calling, { workspaceId, queue }, requests), TOGETHER[queue])
      askTogether.set(name, ask)
    }
    return ask(request)
  }
}

/** Once one was in vain, those that wait for their turn hear it at once. */
const admitReplicated = (): typeof admitTogether => {
  let askAgainAt = 0
  const admit: typeof admitTogether = async (to, from, requests) => {
    if (performance.now() < askAgainAt) return requests.map(() => ({ outcome: 'unreplicated', bucket: undefined }))
    const admissions = await admitTogether(to, from, requests)
    if (admissions.some(({ outcome }) => outcome === 'unreplicated'))
      askAgainAt = performance.now() + ASK_AGAIN_AFTER_MS
    return admissions
  }
  const inTurn = coalesce(async ([call]: readonly (() => Promise<Asking[]>)[]) => [await call!()], {
    items: 1,
    lanes: REPLICATED_AT_ONCE,
  })
  return (...asked) => inTurn(() => admit(...asked))
}

const WEIGHT_OF_ANY = 3
const CHARACTERS_LIKE_A_KEY = 300

const weightOf = ({ bodyText }: AdmissionRequest): number => WEIGHT_OF_ANY + bodyText.length / CHARACTERS_LIKE_A_KEY

/**
 * What one call carries at most, so that Redis answers others again after a millisecond or two. A second call may be on its way, so that
 * the API reads requests while Redis admits others: otherwise 64 connections sent all they had in one call, and then all waited for its
 * answer (4,580 requests a second, now 5,270, on a slow machine).
 */
const SHARED = { items: 64, weight: { most: 1_000, of: weightOf }, lanes: 2 }
const TOGETHER = { submissions: SHARED, conversations: SHARED, purges: { ...SHARED, items: 1 } }

const SAYS_MUCH = 1_000

type CallAdmit = (
  keysAndArguments: readonly (string | number)[],
) => Promise<{ answered: Answered; isReplicated: boolean }>
type Asked = { request: AskedRequest; submissionId: string; said: Said }

/** The order is that of KEYS and ARGV in admit.lua. */
const admitTogether = async (
  { prefix, handOver, floorOf, callAdmit }: AskDependencies & { callAdmit: CallAdmit },
  { workspaceId, queue }: { workspaceId: string; queue: BatchQueueName },
  requests: readonly AskedRequest[],
): Promise<Asking[]> => {
  const batchId = batchIdOf(newId())
  const asked = requests.map((request, at): Asked => {
    const submissionId = submissionIdIn(batchId, at + 1)
    return { request, submissionId, said: request.saidBy(submissionId) }
  })
  // What says much takes as long to write as it took to say: others have this process in between.
  if (asked.some(({ said }) => said.sayings.aboutKeys.length > SAYS_MUCH)) await turnOfLoop()
  const { keys, begin } = keysOfScript(prefix, workspaceId)
  // A purge waits for what was accepted before it, and nothing of it is heavy.
  const { bytes, submissions } = queue === 'purges' ? NEVER : BACKLOG_BEYOND
  const mostBytes = requests.reduce((least, request) => Math.min(least, request.mostBytes ?? least), NEVER.bytes)
  // Last of all, so that no other server can have come between that the floor was not asked for.
  const floor = (await floorOf?.(workspaceId)) ?? 0
  const settings = [begin, floor, IDEMPOTENCY_SECONDS, batchId, bytes, submissions, Math.floor(mostBytes)]
  const texts = [JSON.stringify(asked.map(askedOf)), ...requests.map(itemText)]
  const { answered, isReplicated } = await callAdmit([...keys, ...settings, ...texts])
  const admissions = asked.map((one, at) => readAnswer(answered[at]!, one))
  const entered = requests.filter((_, at) => admissions[at]!.outcome === 'admitted')
  // What too few replicas have stays in the outbox for now: a failover would lose it from the books after it was stored.
  if (isReplicated && entered.length > 0) {
    const bytesEntered = entered.reduce((sum, { bodyText }) => sum + bodyText.length, 0)
    const operations = entered.map(({ operation }) => operation)
    const follows = answered.at(-1)
    void handOver(queue, {
      workspaceId,
      batchId,
      operations,
      bytes: bytesEntered,
      ...((follows === 'nothing' || follows === 'no purge') && { follows }),
      isBacklog: follows === 'backlog',
    })
  }
  return isReplicated ? admissions : admissions.map(unreplicated)
}

const callingAdmit = ({ redis, replicas = 0 }: AskDependencies): CallAdmit => {
  if (replicas === 0) {
    redis.defineCommand('admit', { lua: ADMIT, numberOfKeys: KEYS_OF_ADMIT })
    return async (keysAndArguments) => ({
      answered: await (redis as RedisWithAdmit).admit(...keysAndArguments),
      isReplicated: true,
    })
  }
  // A server that has just taken over does not know the script, and whoever is told so has waited for its replicas in vain.
  let isKnown = false
  onNewConnection(redis, () => {
    isKnown = false
  })
  return async (keysAndArguments) => {
    const send = (isByName: boolean) =>
      isByName
        ? admitAndWait(redis.pipeline().evalsha(ADMIT_SHA1, KEYS_OF_ADMIT, ...keysAndArguments), replicas)
        : admitAndWait(redis.pipeline().eval(ADMIT, KEYS_OF_ADMIT, ...keysAndArguments), replicas)
    const first = await send(isKnown)
    const isForgotten = isRefusedByRedis(first.fault) && first.fault.message.startsWith('NOSCRIPT')
    const { fault, answered, isReplicated } = isForgotten ? await send(false) : first
    if (fault !== null) throw fault
    isKnown = true
    return { answered: answered as Answered, isReplicated }
  }
}

/**
 * WAIT is sent behind the script on the same connection: so both are carried out by the same server, whoever takes over. A defined
 * command would not do: ioredis sends that again, behind WAIT, to a server that does not know the script.
 */
const admitAndWait = async (
  admission: ChainableCommander,
  replicas: number,
): Promise<{ fault: Error | null; answered: unknown; isReplicated: boolean }> => {
  const [admit, wait] = (await admission.wait(replicas, REPLICATED_WITHIN_MS).exec())!
  return { fault: admit![0], answered: admit![1], isReplicated: wait![0] === null && Number(wait![1]) >= replicas }
}

const unreplicated = (admission: Asking): Asking =>
  admission.outcome === 'admitted' || admission.outcome === 'repeated'
    ? { outcome: 'unreplicated', bucket: admission.bucket }
    : admission

/** A submission as the script is asked about it. What is undefined is left out. */
const askedOf = ({ request: { operation, limit, idempotency, known, ...request }, submissionId, said }: Asked) => ({
  operation,
  letter: letterOf(operation),
  mode: request.peek === true ? 'peek' : request.full === true ? 'full' : 'open',
  tokens: limit?.tokens,
  windowMs: limit?.windowMs,
  record: idempotency?.key,
  body: idempotency?.body,
  known: known && (known === 'nothing' ? '' : recordOf(known)),
  begin: idempotency && recordBegin({ body: idempotency.body, submissionId }),
  exists: said.sayings.newIds.flatMap(({ id, of }) => [compactId(id), of]),
  said: factsOf(said.sayings).flatMap(({ keyId, saying }) => [keyId, saying]),
  lookUp: said.lookUp.map(compactId),
})

const readAnswer = (answer: ScriptAnswer, asked: Asked): Asking => {
  const [fields, ...facts] = typeof answer === 'string' ? [answer] : answer
  const [outcome, remaining, reset, number, purges, former] = fields.split(' ')
  const bucket = readBucket(remaining!, reset!)
  switch (outcome as Exclude<Asking['outcome'], 'unreplicated'>) {
    case 'fresh':
    case 'unknown-key':
      return { outcome: outcome as 'fresh' }
    case 'rate-limited':
    case 'full':
    case 'other-body':
      return { outcome: outcome as 'full', bucket }
    case 'admitted':
    case 'repeated':
      return {
        outcome: outcome as 'admitted',
        submissionId: former === undefined ? asked.submissionId : readCompactId(former),
        number: Number(number),
        bucket,
        queued: readFacts(facts, asked.said.lookUp),
        purgesQueued: purges !== '0',
      }
  }
}

const readFacts = (facts: readonly (number | string | string[])[], lookUp: readonly string[]): QueuedFactsByKey => {
  const ids: string[] = []
  const raw: RawFacts = []
  for (let at = 0; at < facts.length; at += 3) {
    ids.push(lookUp[Number(facts[at])]!)
    raw.push([facts[at + 1] as string, facts[at + 2] as string[]])
  }
  return factsByKey(ids, raw)
}

const readBucket = (remaining: string, resetMicroseconds: string): Bucket | undefined =>
  remaining === '-'
    ? undefined
    : { remaining: Math.max(0, Number(remaining)), resetMs: Math.ceil(Number(resetMicroseconds) / MICROSECONDS_PER_MS) }
