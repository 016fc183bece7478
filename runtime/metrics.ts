import { readFileSync } from 'node:fs'
import process from 'node:process'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** The media type of `ProcessMetrics.text`. */
export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

/** The value of a metric for one set of labels. */
export type Figure = { labels?: Readonly<Record<string, string>>; value: number }
type MetricDescription = { name: string; help: string; labels?: readonly string[] }

/**
 * By default, `prom-client` wakes an idle process a hundred times a second. event-loop-delay.ts has
 * the metric for alerts.
 */
const LOOP_LOOKED_AT_EVERY_MS = 1_000

/** The metrics of one process. */
export type ProcessMetrics = {
  /** A count since the start of the process. */
  counter: (described: MetricDescription) => Counter
  /** Counts values up to each of the `buckets`, which ascend. */
  histogram: (described: MetricDescription & { buckets: readonly number[] }) => Histogram
  /**
   * A gauge that reads its figures at each scrape. A set of labels without a known value has no
   * figure.
   */
  gauge: (described: MetricDescription, read: () => readonly Figure[]) => void
  /** A counter that reads its figures at each scrape. */
  scrapedCounter: (described: MetricDescription, read: () => readonly Figure[]) => void
  /** In the Prometheus text format 0.0.4. */
  text: () => Promise<string>
}

/**
 * Opens the metrics of an API or worker process. They include metrics of the process itself and
 * `feedback_insights_build_info`.
 */
export const createProcessMetrics = (kind: 'api' | 'worker'): ProcessMetrics => {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOKED_AT_EVERY_MS })
  const gauge: ProcessMetrics['gauge'] = (described, read) => {
    const collect = createCollect<Gauge>(read, (metric, { labels = {}, value }) => metric.set(labels, value))
    registry.registerMetric(new Gauge({ ...configOf(described), registers: [], collect }))
  }
  const build = { process: kind, version: ownVersion(), runtime: runtimeName() }
  gauge(
    {
      name: 'feedback_insights_build_info',
      help: 'The version and the runtime of the process; always 1.',
      labels: Object.keys(build),
    },
    () => [{ labels: build, value: 1 }],
  )
  return {
    counter: (described) => new Counter({ ...configOf(described), registers }),
    histogram: (described) => new Histogram({ ...configOf(described), buckets: [...described.buckets], registers }),
    gauge,
    scrapedCounter: (described, read) => {
      const collect = createCollect<Counter>(read, (metric, { labels = {}, value }) => metric.inc(labels, value))
      registry.registerMetric(new Counter({ ...configOf(described), registers: [], collect }))
    },
    text: () => registry.metrics(),
  }
}

const configOf = ({ name, help, labels = [] }: MetricDescription) => ({ name, help, labelNames: labels })

/** Sets all figures of a metric when it is scraped. */
const createCollect = <Metric extends Gauge | Counter>(
  read: () => readonly Figure[],
  write: (metric: Metric, figure: Figure) => void,
) =>
  function (this: Metric): void {
    this.reset()
    // A reset sets a metric without labels to 0, which may be untrue.
    this.remove({})
    for (const figure of read()) write(this, figure)
  }

/** The figure of a metric without labels; none if the value is unknown. */
export const figureOf = (value: number | undefined): Figure[] => (value === undefined ? [] : [{ value }])

const ownVersion = (): string => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

const runtimeName = (): string => {
  const { bun, deno, node } = process.versions
  return bun !== undefined ? `bun ${bun}` : deno !== undefined ? `deno ${deno}` : `node ${node}`
}
