import { createServer, type Server } from 'node:http'
import { METRICS_TYPE } from '../runtime/metrics.ts'

/**
 * A server that answers GET and HEAD of /healthz and /metrics. It asks for no token, so its port
 * must not be reachable from outside.
 */
export const createHealthServer = (metrics: () => Promise<string>): Server =>
  createServer((request, response) => {
    // The path is not parsed as a URL: `//` is no valid URL, and the error would end the process.
    const [path = '/'] = (request.url ?? '/').split('?', 1)
    const page = request.method === 'GET' || request.method === 'HEAD' ? path : ''
    if (page === '/metrics') {
      void metrics().then((text) => {
        response.writeHead(200, { 'Content-Type': METRICS_TYPE })
        response.end(text)
      })
      return
    }
    const isHealth = page === '/healthz'
    response.writeHead(isHealth ? 200 : 404, { 'Content-Type': 'application/json' })
    response.end(
      JSON.stringify(isHealth ? { alive: true } : { error: 'This port has GET /healthz and GET /metrics only.' }),
    )
  })
