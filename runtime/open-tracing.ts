import type { Logger } from './logger.ts'
import type { Tracing } from './tracing.ts'

/**
 * Opens the tracing of a process to an OpenTelemetry collector (OTLP over HTTP). Without an
 * endpoint it returns undefined and does not load OpenTelemetry. While the collector is away, the
 * process loses spans and logs one line; its work goes on.
 */
export const openTracing = async (
  process: 'api' | 'worker',
  endpoint: string | undefined,
  log: Logger,
): Promise<Tracing | undefined> => {
  if (endpoint === undefined) return undefined
  const { exportTraces } = await import('./export-traces.ts')
  return exportTraces(process, endpoint, log)
}
