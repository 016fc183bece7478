import { type OnFault, requestIdOf } from '../request-id.ts'
import { refusalResponse } from '../refusal.ts'
import type { Handler } from '../serve.ts'

/** GET /metrics, in the text format of Prometheus. */
export const metricsPage =
  (metrics: () => Promise<string>, onFault: OnFault): Handler =>
  async (request) => {
    try {
      return new Response(await metrics(), { headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' } })
    } catch (error) {
      onFault('metrics_failed', error, { requestId: requestIdOf(request) })
      return refusalResponse({ refused: 'unavailable', why: 'stores' })
    }
  }
