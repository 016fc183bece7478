import process from 'node:process'
import { openDatabase, whyNotThisDatabase } from '../db/connection/open-database.ts'
import { setBootstrapTokens } from '../db/tokens.ts'
import { connectProcess, endWith, whyNotListening } from '../runtime/connect-process.ts'
import { openTracing } from '../runtime/open-tracing.ts'
import { bypassProxies } from '../runtime/bypass-proxies.ts'
import { connectToAnswer } from '../queue/redis/connect-redis.ts'
import { whenReady, whyNotThisRedis } from '../queue/redis/open-redis.ts'
import { readApiConfig } from './config.ts'
import { createApi } from './create-api.ts'
import { serve } from './serve.ts'

const STATEMENT_TIMEOUT_MS = 5_000

bypassProxies(process.env)
const { config, log, hashKey, sql, redis } = await connectProcess({
  name: 'api',
  environment: process.env,
  readConfig: readApiConfig,
  connectPostgres: (settings, logPostgres) =>
    openDatabase(settings, { name: 'api', statementTimeoutMs: STATEMENT_TIMEOUT_MS, log: logPostgres }),
  connectRedis: ({ REDIS_URL }, logRedis) => whenReady(connectToAnswer(REDIS_URL), logRedis),
  reasonsNotToStart: [
    (stores) => whyNotThisRedis(stores.redis, stores.log),
    (stores) => whyNotThisDatabase(stores.sql, stores.hashKey),
  ],
})
const replacedKinds = await setBootstrapTokens(sql, {
  ...(config.BOOTSTRAP_ACCESS_TOKEN !== undefined && { access: config.BOOTSTRAP_ACCESS_TOKEN }),
  ...(config.BOOTSTRAP_ADMIN_TOKEN !== undefined && { admin: config.BOOTSTRAP_ADMIN_TOKEN }),
})
for (const kind of replacedKinds) log('warn', 'bootstrap_token_replaced', { kind })
const readingSql = openDatabase(
  { ...config, DATABASE_URL: config.READS_DATABASE_URL ?? config.DATABASE_URL },
  { name: 'api-reads', statementTimeoutMs: STATEMENT_TIMEOUT_MS, isReadOnly: true },
)
const tracing = await openTracing('api', config.OTEL_EXPORTER_OTLP_ENDPOINT, log)
const waitsForReplicas = config.REDIS_REPLICAS_ACK > 0
const admitting = waitsForReplicas ? await whenReady(connectToAnswer(config.REDIS_URL), log) : redis
const api = await createApi({ config, log, hashKey, sql, readingSql, redis, admitting, tracing })

const listening = (() => {
  try {
    return serve({ port: config.PORT, hostname: config.HOST, fetch: api.handle })
  } catch (error) {
    return endWith(whyNotListening(error, { host: config.HOST, port: config.PORT, prefix: '' }))
  }
})()

let isDraining = false
const drain = async (): Promise<void> => {
  if (isDraining) return
  isDraining = true
  api.drain()
  log('info', 'draining')
  const late = setTimeout(
    () => endWith('The process did not end within SHUTDOWN_SECONDS.'),
    config.SHUTDOWN_SECONDS * 1_000,
  )
  await listening.stop()
  await api.stop()
  await tracing?.stop()
  redis.disconnect()
  admitting.disconnect()
  await Promise.all([sql.end({ timeout: 5 }), readingSql.end({ timeout: 5 })])
  clearTimeout(late)
  process.exit(0)
}
process.on('SIGTERM', () => void drain())
process.on('SIGINT', () => void drain())
// The last step: a program that reads this line may end the process immediately.
log('info', 'listening', { host: config.HOST, port: listening.port })
