import { createServer, type Server } from 'node:http'

export type WorkerMetrics = { count: (queue: string, outcome: string) => void; render: () => string }

/** What became of the jobs that this process worked on, as Prometheus text. */
export const createWorkerMetrics = (): WorkerMetrics => {
  const outcomes = new Map<string, number>()
  return {
    count: (queue, outcome) => {
      const labels = `queue="${queue}",outcome="${outcome}"`
      outcomes.set(labels, (outcomes.get(labels) ?? 0) + 1)
    },
    render: () =>
      [
        '# HELP feedback_insights_jobs_total Jobs that this worker finished, by what became of them.',
        '# TYPE feedback_insights_jobs_total counter',
        ...[...outcomes].map(([labels, count]) => `feedback_insights_jobs_total{${labels}} ${count}`),
        '',
      ].join('\n'),
  }
}

/** Answers GET /healthz and GET /metrics and nothing else. Not for the outside: it asks for no token. */
export const createHealthServer = (metrics: WorkerMetrics): Server =>
  createServer((request, response) => {
    // Not parsed as a URL: `//` is none, and would end the process.
    const [path = '/'] = (request.url ?? '/').split('?', 1)
    const page = request.method === 'GET' || request.method === 'HEAD' ? path : ''
    if (page === '/metrics') {
      response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
      response.end(metrics.render())
      return
    }
    const alive = page === '/healthz'
    response.writeHead(alive ? 200 : 404, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(alive ? { alive: true } : { error: 'There is nothing at this path.' }))
  })
