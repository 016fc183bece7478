import type { Log } from './log.ts'
import type { Tracing } from './tracing.ts'

/**
 * Opens the tracing of a process to an OpenTelemetry collector (OTLP over HTTP). Without an
 * endpoint it returns undefined and loads nothing of OpenTelemetry. While the collector is away,
 * spans are lost and one line is logged; nothing else changes.
 */
export const openTracing = async (
  process: 'api' | 'worker',
  endpoint: string | undefined,
  log: Log,
): Promise<Tracing | undefined> => {
  if (endpoint === undefined) return undefined
  const { exportTraces } = await import('./export-traces.ts')
  return exportTraces(process, endpoint, log)
}
