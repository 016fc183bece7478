import { readFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { hashKeyFrom } from '../../contract/identity/keys.ts'
import { readMigrations } from '../../db/schema/migrate.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { explainPostgres, explainRedis } from '../../runtime/explain-fault.ts'
import { describeFault } from '../../runtime/fault.ts'
import { count } from '../../health/finding.ts'
import { describeMisspelt, findMisspelt } from '../../runtime/misspelt-settings.ts'
import { bypassProxies } from '../../runtime/bypass-proxies.ts'
import { DEFAULT_DATA_DIR, readServiceFile, serviceEnvironment } from '../../runtime/service-file.ts'
import {
  BadSettings,
  type Environment,
  readSettings,
  type SettingName,
  type Settings,
  withSecretFiles,
} from '../../runtime/settings.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { connectForCommand, type RedisClient } from '../../queue/redis/connect-redis.ts'
import { openForCommand, print } from '../run-command.ts'
import {
  checkApi,
  checkDisk,
  checkRuntime,
  checkWorkerPort,
  type Tested,
  withoutConsequences,
} from './check-machine.ts'
import { checkPostgres } from './check-postgres.ts'
import { checkStandbys } from './check-standbys.ts'
import { checkRedis } from './check-redis.ts'
import { checkWork } from './check-work.ts'
import { type Checked, describeFinding, warning, wrong } from './finding.ts'

const USAGE = `usage: npm run doctor

Checks versions, settings, ports, Postgres, Redis, clocks, disk, tokens and waiting work of this installation.
Changes nothing. Each line is well, warning or wrong; a warning or a wrong line says what to do.
It checks the service that runs in DATA_DIR, or the servers of DATABASE_URL and REDIS_URL with HASH_KEY.

Exit code 0: no line is wrong. 1: at least one is, or the command was called wrongly.`

const STATEMENT_TIMEOUT_MS = 10_000
/** A server that takes longer to connect, or to answer `checkPostgres` or `checkRedis`, is a finding. */
const SERVER_TIMEOUT_MS = 15_000

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
  // Two checks can find the same fault.
  const examined = new Map((await examine()).map((finding) => [finding.what, finding]))
  const findings = withoutConsequences([...examined.values()])
  for (const finding of findings) print(describeFinding(finding))
  const numberOf = (level: Checked['level']): number => findings.filter((finding) => finding.level === level).length
  const warnings = count(numberOf('attention'), 'warning', 'warnings')
  print(`\n${numberOf('trouble')} wrong, ${warnings}, ${numberOf('well')} well.`)
  return numberOf('trouble') === 0 ? 0 : 1
}

const examine = async (): Promise<Checked[]> => {
  const findings = [checkRuntime(testedVersions(), process.versions)]
  let environment: Environment
  try {
    environment = await serviceEnvironment(withSecretFiles(process.env))
  } catch (error) {
    return [...findings, ofBadSettings(error)]
  }
  findings.push(...findMisspelt(environment).map(ofMisspelt))
  const dataDir = environment['DATA_DIR'] || DEFAULT_DATA_DIR
  const read = createReadSettings(environment, findings)
  const ports = read(['HOST', 'PORT', 'WORKER_HOST', 'WORKER_PORT'])
  const postgres = read(['DATABASE_URL', 'DATABASE_SCHEMA', 'DATABASE_POOLER'])
  const redis = read(['REDIS_URL', 'REDIS_PREFIX', 'REDIS_REPLICAS_ACK'])
  const maxBacklog = read(['MAX_BACKLOG'])?.MAX_BACKLOG ?? Infinity
  const hashKey = read(['HASH_KEY'])?.HASH_KEY
  const readsUrl = read(['READS_DATABASE_URL'])?.READS_DATABASE_URL
  findings.push(...(await checkDisk(dataDir)))
  if (ports) findings.push(...(await examinePorts(ports, dataDir, environment)))
  const sql = postgres && openForCommand(postgres, { name: 'doctor', statementTimeoutMs: STATEMENT_TIMEOUT_MS })
  try {
    if (sql) {
      const addresses = [postgres.DATABASE_URL, ...(readsUrl === undefined ? [] : [readsUrl])]
      const servers = { addresses, pooler: postgres.DATABASE_POOLER }
      findings.push(...(await examinePostgres(sql, servers, hashKey)))
    }
    if (redis) findings.push(...(await examineRedis(redis, sql, maxBacklog)))
  } finally {
    await sql?.end({ timeout: 1 })
  }
  return findings
}

const testedVersions = (): Tested => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { devDependencies: Tested }).devDependencies
}

/**
 * The result reads a group of settings, or adds a finding about its bad values. So a bad value hides only the
 * findings that need its group.
 */
const createReadSettings =
  (environment: Environment, findings: Checked[]) =>
  <const Names extends readonly SettingName[]>(names: Names): Settings<Names[number]> | undefined => {
    try {
      return readSettings(names, environment)
    } catch (error) {
      findings.push(ofBadSettings(error))
      return undefined
    }
  }

const ofBadSettings = (error: unknown): Checked => {
  const text = error instanceof BadSettings ? error.message.replaceAll('\n', ' ') : describeFault(error)
  return wrong(text, 'Start the service with npm start, or set the variable as docs/environment.md says.')
}

const ofMisspelt = (misspelt: Parameters<typeof describeMisspelt>[0]): Checked =>
  warning(
    describeMisspelt(misspelt),
    'Correct the name, or remove the variable. docs/environment.md lists all settings.',
  )

type PortSettings = Settings<'HOST' | 'PORT' | 'WORKER_HOST' | 'WORKER_PORT'>

/**
 * An unset WORKER_PORT is not checked, since `npm start` then uses any free port. The value 0 means
 * any free port as well.
 */
const examinePorts = async (
  { HOST, PORT, WORKER_HOST, WORKER_PORT }: PortSettings,
  dataDir: string,
  environment: Environment,
): Promise<Checked[]> => {
  const url = (await readServiceFile(dataDir))?.url
  const hosts = url === undefined ? [] : [new URL(url).hostname]
  bypassProxies(process.env, ...hosts, HOST, WORKER_HOST)
  return [
    ...(url === undefined && PORT === 0 ? [] : [await checkApi({ url, host: HOST, port: PORT })]),
    ...(environment['WORKER_PORT'] && WORKER_PORT !== 0 ? [await checkWorkerPort(WORKER_HOST, WORKER_PORT)] : []),
  ]
}

const examinePostgres = async (
  sql: Sql,
  servers: Parameters<typeof checkStandbys>[1],
  hashKey: string | undefined,
): Promise<Checked[]> => {
  try {
    const key = hashKey === undefined ? undefined : hashKeyFrom(hashKey)
    const findings = await withinTime(checkPostgres(sql, key, await readMigrations()), SERVER_TIMEOUT_MS)
    return [...findings, ...(await checkStandbys(sql, servers))]
  } catch (error) {
    return [{ level: 'trouble', ...explainPostgres(error) }]
  }
}

const examineRedis = async (
  { REDIS_URL, REDIS_PREFIX, REDIS_REPLICAS_ACK }: Settings<'REDIS_URL' | 'REDIS_PREFIX' | 'REDIS_REPLICAS_ACK'>,
  sql: Sql | undefined,
  maxBacklog: number,
): Promise<Checked[]> => {
  let redis: RedisClient | undefined
  try {
    redis = await withinTime(connectForCommand(REDIS_URL), SERVER_TIMEOUT_MS)
    const findings = await withinTime(checkRedis(redis, REDIS_REPLICAS_ACK), SERVER_TIMEOUT_MS)
    return sql === undefined
      ? findings
      : [...findings, ...(await checkWork({ sql, redis, prefix: REDIS_PREFIX, maxBacklog }))]
  } catch (error) {
    return [{ level: 'trouble', ...explainRedis(error) }]
  } finally {
    redis?.disconnect()
  }
}

process.exit(await run())
