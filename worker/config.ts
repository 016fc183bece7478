import { readSettings, type Settings } from '../runtime/settings.ts'

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
