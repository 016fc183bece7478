import process from 'node:process'
import { parseArgs } from 'node:util'
import { hashKeyFrom } from '../../contract/identity/keys.ts'
import { readMigrations } from '../../db/schema/migrate.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { explainPostgres, explainRedis } from '../../runtime/explain-fault.ts'
import { describeFault } from '../../runtime/fault.ts'
import { bypassProxies } from '../../runtime/bypass-proxies.ts'
import { DEFAULT_DATA_DIR, readServiceFile, serviceEnvironment } from '../../runtime/service-file.ts'
import { BadSettings, readSettings, type Settings, withSecretFiles } from '../../runtime/settings.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { connectForCommand, type RedisClient } from '../../queue/redis/connect-redis.ts'
import { openForCommand, print } from '../run-command.ts'
import { checkApi, checkDisk } from './check-machine.ts'
import { checkPostgres } from './check-postgres.ts'
import { checkStandbys } from './check-standbys.ts'
import { checkRedis } from './check-redis.ts'
import { checkWork } from './check-work.ts'
import { type Checked, describeFinding, wrong } from './finding.ts'

const USAGE = `usage: npm run doctor

Checks this installation and changes nothing: settings, Postgres, Redis, clocks, disk, tokens, and
waiting work. Each line is well, warning or wrong; a warning or a wrong line says what to do.
It checks the service that runs in DATA_DIR, or the servers of DATABASE_URL and REDIS_URL with HASH_KEY.

Exit code 0: no line is wrong. 1: at least one is.`

const STATEMENT_TIMEOUT_MS = 10_000
/** For all questions to one server: a hanging server is a finding too. */
const SERVER_TIMEOUT_MS = 15_000

const NAMES = [
  'HOST',
  'PORT',
  'DATABASE_URL',
  'DATABASE_SCHEMA',
  'DATABASE_POOLER',
  'READS_DATABASE_URL',
  'HASH_KEY',
  'REDIS_URL',
  'REDIS_PREFIX',
  'REDIS_REPLICAS_ACK',
  'MAX_BACKLOG',
] as const
type DoctorSettings = Settings<(typeof NAMES)[number]>
type Environment = Readonly<Record<string, string | undefined>>

const run = async (): Promise<number> => {
  try {
    if (parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values.help === true) {
      print(USAGE)
      return 0
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`)
    return 1
  }
  const findings = await examine()
  for (const finding of findings) print(describeFinding(finding))
  const count = (level: Checked['level']): number => findings.filter((finding) => finding.level === level).length
  print(`\n${count('trouble')} wrong, ${count('attention')} warnings, ${count('well')} well.`)
  return count('trouble') === 0 ? 0 : 1
}

const examine = async (): Promise<Checked[]> => {
  let environment: Environment
  let settings: DoctorSettings
  try {
    environment = await serviceEnvironment(withSecretFiles(process.env))
    settings = readSettings(NAMES, environment)
  } catch (error) {
    return [ofBadSettings(error)]
  }
  const dataDir = environment['DATA_DIR'] || DEFAULT_DATA_DIR
  const sql = openForCommand(settings, { name: 'doctor', statementTimeoutMs: STATEMENT_TIMEOUT_MS })
  try {
    return [
      ...(await checkDisk(dataDir)),
      ...(await examineApi(settings, dataDir)),
      ...(await examinePostgres(sql, settings)),
      ...(await examineRedis(sql, settings)),
    ]
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const ofBadSettings = (error: unknown): Checked => {
  const text = error instanceof BadSettings ? error.message.replaceAll('\n', ' ') : describeFault(error)
  return wrong(text, 'Start the service with npm start, or set the variable as docs/environment.md says.')
}

const examineApi = async ({ HOST, PORT }: DoctorSettings, dataDir: string): Promise<Checked[]> => {
  const url = (await readServiceFile(dataDir))?.url
  const hosts = url === undefined ? [] : [new URL(url).hostname]
  bypassProxies(process.env, ...hosts, HOST)
  return url === undefined && PORT === 0 ? [] : [await checkApi({ url, host: HOST, port: PORT })]
}

const examinePostgres = async (
  sql: Sql,
  { DATABASE_URL, READS_DATABASE_URL = DATABASE_URL, HASH_KEY }: DoctorSettings,
): Promise<Checked[]> => {
  try {
    const key = hashKeyFrom(HASH_KEY)
    const findings = await withinTime(checkPostgres(sql, key, await readMigrations()), SERVER_TIMEOUT_MS)
    return [...findings, ...(await checkStandbys([DATABASE_URL, READS_DATABASE_URL], sql))]
  } catch (error) {
    return [{ level: 'trouble', ...explainPostgres(error) }]
  }
}

const examineRedis = async (
  sql: Sql,
  { REDIS_URL, REDIS_PREFIX, REDIS_REPLICAS_ACK, MAX_BACKLOG }: DoctorSettings,
): Promise<Checked[]> => {
  let redis: RedisClient | undefined
  try {
    redis = await withinTime(connectForCommand(REDIS_URL), SERVER_TIMEOUT_MS)
    return [
      ...(await withinTime(checkRedis(redis, REDIS_REPLICAS_ACK), SERVER_TIMEOUT_MS)),
      ...(await checkWork({ sql, redis, prefix: REDIS_PREFIX, maxBacklog: MAX_BACKLOG })),
    ]
  } catch (error) {
    return [{ level: 'trouble', ...explainRedis(error) }]
  } finally {
    redis?.disconnect()
  }
}

process.exit(await run())
