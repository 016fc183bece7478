import type { Log } from './log.ts'
import type { Tracing } from './tracing.ts'

/**
 * Traces of a process, sent to an OpenTelemetry collector (OTLP over HTTP), or undefined when there is none. Then nothing of it
 * is loaded either. A collector that is away costs spans and nothing else, and is logged once.
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
