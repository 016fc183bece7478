import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import {
  keepsSnapshots,
  type RedisCondition,
  readServerCondition,
  settingOf,
  unfitness,
} from '../../queue/redis/redis-condition.ts'
import { type RedisServer, serversOf } from '../../queue/redis/redis-servers.ts'
import { count, when } from '../../health/finding.ts'
import { REDIS_CANNOT_WRITE } from '../../health/findings.ts'
import { type Checked, judgeClock, warning, well, wrong } from './finding.ts'

/** The oldest version that the tests have run with. */
const OLDEST_MAJOR = 7
const BYTES_PER_MIB = 1024 * 1024

/** Findings about each server of Redis. `replicas`: REDIS_REPLICAS_ACK. */
export const checkRedis = async (redis: RedisClient, replicas: number): Promise<Checked[]> => {
  const servers = await serversOf(redis)
  const each = await Promise.all(servers.map((server) => checkServer(server, replicas)))
  return each.flatMap((findings, index) => {
    const { host, port } = servers[index]!.options
    return servers.length === 1
      ? findings
      : findings.map((finding) => ({ ...finding, what: `${host}:${port}: ${finding.what}` }))
  })
}

const checkServer = async (redis: RedisServer, replicas: number): Promise<Checked[]> => {
  const info = await redis.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const condition = await readServerCondition(redis)
  return [
    checkVersion(field('redis_version')),
    await checkClock(redis),
    checkPolicy(condition),
    ...(await checkAppendOnlyFile(redis, condition)),
    ...(await checkSnapshots(redis, field('rdb_last_bgsave_status'))),
    ...(await checkSlowLog(redis)),
    checkMemory(condition),
    ...(replicas === 0 ? [] : [await checkReplicas(redis, replicas, Number(field('connected_slaves')))]),
  ]
}

const checkVersion = (version: string): Checked =>
  Number(version.split('.')[0]) < OLDEST_MAJOR
    ? warning(`Redis is ${version}, which is not tested.`, `Use Redis ${OLDEST_MAJOR} or newer.`)
    : well(`Redis ${version} answers.`)

const checkClock = async (redis: RedisServer): Promise<Checked> => {
  const askedMs = Date.now()
  const [seconds, micros] = await redis.time()
  const serverMs = Number(seconds) * 1_000 + Number(micros) / 1_000
  return judgeClock('Redis', { serverMs, askedMs, answeredMs: Date.now() })
}

const checkPolicy = (condition: RedisCondition): Checked => {
  if (condition.policy === undefined) {
    return warning(
      'Redis does not show its maxmemory-policy. With any policy but noeviction it loses accepted submissions.',
      'Set noeviction in the settings of your provider, or ask the provider.',
    )
  }
  const reason = unfitness(condition)
  return reason === undefined
    ? well('Redis evicts nothing (maxmemory-policy noeviction).')
    : wrong(reason, 'In redis.conf: maxmemory-policy noeviction. Until then API and worker do not start.')
}

const checkAppendOnlyFile = async (
  redis: RedisServer,
  { appendOnly, cannotWrite }: RedisCondition,
): Promise<Checked[]> => {
  if (appendOnly === undefined) {
    return [
      warning(
        'Redis does not show whether it has an append-only file. Without one, a restart loses accepted submissions that are not applied yet.',
        'Ask the provider of Redis for appendonly yes.',
      ),
    ]
  }
  if (!appendOnly) {
    return [
      wrong(
        'Redis has no append-only file: a restart loses accepted submissions that are not applied yet.',
        'In redis.conf: appendonly yes. In the running Redis: redis-cli config set appendonly yes',
      ),
    ]
  }
  return [...when(cannotWrite, REDIS_CANNOT_WRITE), judgeAppendFsync(await settingOf(redis, 'appendfsync'))]
}

const judgeAppendFsync = (appendFsync: string | undefined): Checked => {
  switch (appendFsync) {
    case 'always':
      return well('Redis has an append-only file, synced with every write.')
    case 'no':
      return well(
        'Redis has an append-only file, written before each answer. npm start and compose.yaml sync it every second; on another server, loss of power can cost half a minute.',
      )
    case undefined:
      return warning(
        'Redis has an append-only file, and does not show when it syncs the file.',
        'Ask the provider of Redis for appendfsync always.',
      )
    default:
      return warning(
        `Redis syncs its append-only file with appendfsync ${appendFsync}: if it is killed while its disk is slow, up to two seconds of accepted submissions are lost, and so they are at a loss of power.`,
        'In redis.conf: appendfsync always.',
      )
  }
}

/**
 * A purge cannot remove data from a snapshot. By default Redis refuses writes after a failed one.
 */
const checkSnapshots = async (redis: RedisServer, lastStatus: string): Promise<Checked[]> => {
  const areKept = await keepsSnapshots(redis)
  if (areKept === false) return [well('Redis keeps no snapshots.')]
  const remedy = 'In redis.conf: save "". In the running Redis: redis-cli config set save "". Then delete its dump.rdb.'
  if (lastStatus === 'err' && (await settingOf(redis, 'stop-writes-on-bgsave-error')) !== 'no') {
    return [
      wrong(
        'Redis could not write its last snapshot, and refuses all writes until a snapshot succeeds (MISCONF): no submission is accepted.',
        `Check the disk and the log of Redis. ${remedy}`,
      ),
    ]
  }
  return [
    areKept
      ? warning('Redis keeps snapshots: purged data stays in them, and a failed snapshot can stop all writes.', remedy)
      : warning(
          'Redis does not show whether it keeps snapshots. Purged data would stay in them.',
          'Ask the provider of Redis how long it keeps snapshots and backups.',
        ),
  ]
}

/** A slow log quotes commands, and a purge cannot remove content from it. */
const checkSlowLog = async (redis: RedisServer): Promise<Checked[]> => {
  const setting = await settingOf(redis, 'slowlog-log-slower-than')
  if (setting === undefined) {
    return [
      warning(
        'Redis does not show whether it keeps a slow log, which may hold content of submissions.',
        'Ask the provider of Redis for slowlog-log-slower-than -1.',
      ),
    ]
  }
  return when(
    Number(setting) >= 0,
    warning(
      'Redis keeps a slow log, which may hold content of submissions. A purge does not remove it from there.',
      'In redis.conf: slowlog-log-slower-than -1. Then: redis-cli slowlog reset. npm run purge:verify searches the slow log.',
    ),
  )
}

const checkReplicas = async (redis: RedisServer, wanted: number, connected: number): Promise<Checked> => {
  const state = `Redis has ${count(connected, 'replica', 'replicas')}, and REDIS_REPLICAS_ACK asks for ${wanted}`
  if (connected < wanted)
    return wrong(`${state}: no submission is confirmed.`, 'Start the replicas, or read their logs.')
  const required = Number((await settingOf(redis, 'min-replicas-to-write')) ?? wanted)
  return required < wanted
    ? warning(
        `${state}. Redis accepts writes with fewer: a submission that too few replicas have is applied, although it is not confirmed.`,
        `In redis.conf: min-replicas-to-write ${wanted}`,
      )
    : well(`${state}.`)
}

const checkMemory = ({ usedBytes, maxBytes }: { usedBytes: number; maxBytes: number }): Checked => {
  const used = `${Math.round(usedBytes / BYTES_PER_MIB)} MiB`
  if (maxBytes === 0) {
    return warning(
      `Redis uses ${used} and has no maxmemory: in a long outage of Postgres it can take all memory of the machine.`,
      'Set maxmemory in redis.conf: from 80 % of it on, new submissions are refused with 503.',
    )
  }
  return well(`Redis uses ${used}, ${Math.round((100 * usedBytes) / maxBytes)} % of maxmemory.`)
}
