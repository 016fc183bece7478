import { readSettings, type Settings } from '../runtime/settings.ts'

const NAMES = [
  'PORT',
  'HOST',
  'DATABASE_URL',
  'DATABASE_SCHEMA',
  'DATABASE_POOLER',
  'DATABASE_CONNECTIONS',
  'REDIS_URL',
  'REDIS_PREFIX',
  'REDIS_REPLICAS_ACK',
  'HASH_KEY',
  'BOOTSTRAP_ACCESS_TOKEN',
  'BOOTSTRAP_ADMIN_TOKEN',
  'LOG_LEVEL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'SHUTDOWN_SECONDS',
  'MAX_BODY_BYTES',
  'MAX_CONVERSATION_BYTES',
  'CORS_ORIGINS',
  'MAX_BYTES_IN_HAND',
  'MAX_BACKLOG',
  'CONVERSATIONS_PER_MINUTE',
  'SUBMISSIONS_PER_MINUTE',
  'READS_AT_ONCE',
  'READS_DATABASE_URL',
  'AGENT_CALLS_PER_MINUTE',
] as const

/** The settings that the API process takes from its environment. */
export type ApiConfig = Settings<(typeof NAMES)[number]>

/** @throws BadSettings */
export const readApiConfig = (environment: Readonly<Record<string, string | undefined>>): ApiConfig =>
  readSettings(NAMES, environment)
