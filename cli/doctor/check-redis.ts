import { REDIS_FULL_SHARE } from '../../contract/limits.ts'
import { closeQueues, countWaiting, openQueues } from '../../queue/job-queues.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'
import { processReportsIn } from '../../queue/process-reports.ts'
import { serverCondition, unfitness } from '../../queue/redis-condition.ts'
import { type RedisServer, serversOf } from '../../queue/redis-servers.ts'
import { type Finding, judgeClock, warning, well, wrong } from './finding.ts'

/** The oldest version that the tests have run with. */
const OLDEST_MAJOR = 7
const NEARLY_FULL = 0.6
const BYTES_PER_MIB = 1024 * 1024

/** What each server of Redis says about itself, how many jobs wait, and how many workers take them. */
export const checkRedis = async (redis: RedisClient, prefix: string): Promise<Finding[]> => {
  const servers = await serversOf(redis)
  const each = await Promise.all(servers.map(checkServer))
  const named = each.flatMap((findings, index) => {
    const { host, port } = servers[index]!.options
    return servers.length === 1
      ? findings
      : findings.map((finding) => ({ ...finding, text: `${host}:${port}: ${finding.text}` }))
  })
  return [...named, ...(await checkWork(redis, prefix))]
}

const checkServer = async (redis: RedisServer): Promise<Finding[]> => {
  const info = await redis.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const condition = await serverCondition(redis)
  const eviction = unfitness(condition)
  return [
    checkVersion(field('redis_version')),
    await checkClock(redis),
    eviction === undefined
      ? well('Redis evicts nothing (maxmemory-policy noeviction).')
      : wrong(eviction, 'In redis.conf: maxmemory-policy noeviction. API and worker do not start before.'),
    ...(await checkAppendOnlyFile(redis, { on: condition.appendOnly, lastWrite: field('aof_last_write_status') })),
    checkMemory(condition),
  ]
}

const checkVersion = (version: string): Finding =>
  Number(version.split('.')[0]) < OLDEST_MAJOR
    ? warning(`Redis is ${version}, which is not tested.`, `Use Redis ${OLDEST_MAJOR} or newer.`)
    : well(`Redis ${version} answers.`)

const checkClock = async (redis: RedisServer): Promise<Finding> => {
  const askedMs = Date.now()
  const [seconds, micros] = await redis.time()
  const serverMs = Number(seconds) * 1_000 + Number(micros) / 1_000
  return judgeClock('Redis', { serverMs, askedMs, answeredMs: Date.now() })
}

const checkAppendOnlyFile = async (
  redis: RedisServer,
  file: { on: boolean; lastWrite: string },
): Promise<Finding[]> => {
  if (!file.on) {
    return [
      wrong(
        'Redis has no append-only file: a restart loses what was accepted and is not stored yet.',
        'In redis.conf: appendonly yes. At once: redis-cli config set appendonly yes',
      ),
    ]
  }
  const broken =
    file.lastWrite === 'ok' || file.lastWrite === ''
      ? []
      : [
          wrong(
            'Redis cannot write its append-only file.',
            'Look at its disk and its log; a full disk is the usual reason.',
          ),
        ]
  // Hosted servers refuse to tell.
  const appendFsync = await redis.config('GET', 'appendfsync').then(
    (answer) => answer[1],
    () => undefined,
  )
  return [...broken, judgeAppendFsync(appendFsync)]
}

const judgeAppendFsync = (appendFsync: string | undefined): Finding => {
  switch (appendFsync) {
    case 'always':
      return well('Redis has an append-only file, synced with every write.')
    case 'everysec':
      return well('Redis has an append-only file, synced every second: loss of power can cost that second.')
    case undefined:
      return warning(
        'Redis has an append-only file and does not tell how it is synced.',
        'Ask who runs it for appendfsync.',
      )
    default:
      return wrong(
        `Redis leaves the syncing of its append-only file to the system (appendfsync ${appendFsync}).`,
        'In redis.conf: appendfsync everysec, or always.',
      )
  }
}

const checkMemory = ({ usedBytes, maxBytes }: { usedBytes: number; maxBytes: number }): Finding => {
  const used = `${Math.round(usedBytes / BYTES_PER_MIB)} MiB`
  if (maxBytes === 0) {
    return warning(
      `Redis uses ${used} and has no bound: a long outage of Postgres can take all memory of the machine.`,
      'Set maxmemory in redis.conf: from 80 % on new submissions are then put off.',
    )
  }
  const share = usedBytes / maxBytes
  const text = `Redis uses ${used}, ${Math.round(100 * share)} % of maxmemory.`
  if (share >= REDIS_FULL_SHARE) {
    return wrong(`${text} New submissions are put off (503).`, 'See that workers run and keep up, or raise maxmemory.')
  }
  return share >= NEARLY_FULL ? warning(text, 'See that workers run and keep up, or raise maxmemory.') : well(text)
}

const checkWork = async (redis: RedisClient, prefix: string): Promise<Finding[]> => {
  const queues = openQueues(redis, prefix, () => {})
  try {
    const waiting = await countWaiting(queues)
    const counts = await Promise.all(Object.values(queues).map((queue) => queue.getWorkersCount())).catch(() => [])
    const reports = await processReportsIn(redis, prefix).read()
    const connected = Math.max(0, ...counts)
    const silent = connected - reports.filter(({ kind }) => kind === 'worker').length
    const unserved = Object.keys(queues).filter((_, at) => counts[at] === 0)
    return [...judgeWork({ waiting, unserved, workers: counts }), ...judgeSilence(connected, silent)]
  } finally {
    await closeQueues(queues)
  }
}

/** `workers`: how many take jobs of each queue; empty when Redis does not tell. */
type Work = { waiting: number; unserved: readonly string[]; workers: readonly number[] }

const judgeWork = ({ waiting, unserved, workers }: Work): Finding[] => {
  const text = `${waiting} jobs wait; ${workers.length > 0 ? Math.max(...workers) : 'an unknown number of'} worker processes take them.`
  if (unserved.length === 0) return [well(text)]
  const isNobodyThere = unserved.length === workers.length
  const remedy = isNobodyThere
    ? 'Start one: npm run worker (npm start does)'
    : 'Start a worker that does, or add them to WORKER_QUEUES of one that runs.'
  const whole = isNobodyThere ? text : `${text} None of them serves the queues ${unserved.join(', ')}.`
  return [waiting > 0 ? wrong(whole, remedy) : warning(whole, remedy)]
}

/** A worker that is frozen keeps its connections. */
const judgeSilence = (connected: number, silent: number): Finding[] =>
  silent <= 0
    ? []
    : [
        wrong(
          `${silent} of ${connected} worker processes that are connected have said nothing for ten seconds: they are frozen, or have no processor time.`,
          'Look at their logs and what they do; end one that does not answer. What it has in hand is delivered again within seconds.',
        ),
      ]
