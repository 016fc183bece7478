import type { HashKey } from '../contract/identity/keys.ts'
import type { Sql } from '../db/connection/postgres.ts'
import type { JobQueues } from '../queue/jobs/job-queues.ts'
import type { Log } from '../queue/log/log.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'
import { readSettings, type Settings } from '../runtime/settings.ts'

/** The stores that all work of a worker shares. `prefix`: REDIS_PREFIX. */
export type WorkerStores = {
  sql: Sql
  redis: RedisClient
  prefix: string
  logs: Log
  queues: JobQueues
  hashKey: HashKey
}

const NAMES = [
  'DATABASE_URL',
  'DATABASE_SCHEMA',
  'DATABASE_POOLER',
  'DATABASE_CONNECTIONS',
  'REDIS_URL',
  'REDIS_PREFIX',
  'HASH_KEY',
  'WORKER_PORT',
  'WORKER_HOST',
  'WORKER_QUEUES',
  'SHUTDOWN_SECONDS',
  'RECEIPT_DAYS',
  'TOMBSTONE_DAYS',
  'REDO_SECONDS',
  'WEBHOOK_ALLOWED_HOSTS',
  'LOG_LEVEL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
] as const

/** The settings of a worker process. */
type WorkerConfig = Settings<(typeof NAMES)[number]>

/** @throws BadSettings */
export const readWorkerConfig = (environment: Readonly<Record<string, string | undefined>>): WorkerConfig =>
  readSettings(NAMES, environment)
