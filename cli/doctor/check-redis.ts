import type { RedisClient } from '../../queue/connect-redis.ts'
import { serverCondition, unfitness } from '../../queue/redis-condition.ts'
import { type RedisServer, serversOf } from '../../queue/redis-servers.ts'
import { type Finding, judgeClock, warning, well, wrong } from './finding.ts'

/** The oldest version that the tests have run with. */
const OLDEST_MAJOR = 7
const BYTES_PER_MIB = 1024 * 1024

/** Findings about each server of Redis. `replicas`: REDIS_REPLICAS_ACK. */
export const checkRedis = async (redis: RedisClient, replicas: number): Promise<Finding[]> => {
  const servers = await serversOf(redis)
  const each = await Promise.all(servers.map((server) => checkServer(server, replicas)))
  return each.flatMap((findings, index) => {
    const { host, port } = servers[index]!.options
    return servers.length === 1
      ? findings
      : findings.map((finding) => ({ ...finding, text: `${host}:${port}: ${finding.text}` }))
  })
}

const checkServer = async (redis: RedisServer, replicas: number): Promise<Finding[]> => {
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
    ...(await checkSlowLog(redis)),
    checkMemory(condition),
    ...(replicas === 0 ? [] : [await checkReplicas(redis, replicas, Number(field('connected_slaves')))]),
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
        'Redis has no append-only file: a restart loses what was accepted and is not applied yet.',
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
  return [...broken, judgeAppendFsync(await settingOf(redis, 'appendfsync'))]
}

/** Hosted servers refuse to tell their settings. */
const settingOf = (redis: RedisServer, name: string): Promise<string | undefined> =>
  redis.config('GET', name).then(
    (answer) => answer[1],
    () => undefined,
  )

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

/** A slow log quotes commands, and a purge cannot reach the content in it. */
const checkSlowLog = async (redis: RedisServer): Promise<Finding[]> => {
  const setting = await settingOf(redis, 'slowlog-log-slower-than')
  return setting === undefined || Number(setting) < 0
    ? []
    : [
        warning(
          'Redis keeps a slow log, which may hold content of submissions. A purge does not remove it from there.',
          'In redis.conf: slowlog-log-slower-than -1. Then: redis-cli slowlog reset. npm run purge:verify looks into it.',
        ),
      ]
}

const checkReplicas = async (redis: RedisServer, wanted: number, connected: number): Promise<Finding> => {
  const said = `Redis has ${connected} of ${wanted} replicas that REDIS_REPLICAS_ACK asks for`
  if (connected < wanted) return wrong(`${said}: nothing is confirmed.`, 'Start them, or look in their logs.')
  const required = Number((await settingOf(redis, 'min-replicas-to-write')) ?? wanted)
  return required < wanted
    ? warning(
        `${said}, and takes what they do not have: it is applied without being confirmed.`,
        `In redis.conf: min-replicas-to-write ${wanted}`,
      )
    : well(`${said}.`)
}

const checkMemory = ({ usedBytes, maxBytes }: { usedBytes: number; maxBytes: number }): Finding => {
  const used = `${Math.round(usedBytes / BYTES_PER_MIB)} MiB`
  if (maxBytes === 0) {
    return warning(
      `Redis uses ${used} and has no bound: a long outage of Postgres can take all memory of the machine.`,
      'Set maxmemory in redis.conf: from 80 % on new submissions are then put off.',
    )
  }
  return well(`Redis uses ${used}, ${Math.round((100 * usedBytes) / maxBytes)} % of maxmemory.`)
}
