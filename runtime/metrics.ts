import { readFileSync } from 'node:fs'
import process from 'node:process'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** What a metric says about one set of labels. */
export type Figure = { labels?: Readonly<Record<string, string>>; value: number }
type Described = { name: string; help: string; labels?: readonly string[] }

/** The metrics of one process. */
export type ProcessMetrics = {
  /** Counts since the start of the process. */
  counter: (described: Described) => Counter
  /** Counts how many values are at most as great as each of the `buckets`, which ascend. */
  histogram: (described: Described & { buckets: readonly number[] }) => Histogram
  /** A gauge whose figures are asked for with each scrape; it has none for what is not known. */
  gauge: (described: Described, read: () => readonly Figure[]) => void
  /** The same as a counter, for what is counted elsewhere. */
  counted: (described: Described, read: () => readonly Figure[]) => void
  /** In the Prometheus text format 0.0.4. */
  text: () => Promise<string>
}

/**
 * Opens the metrics of an API or worker process: those of the process itself are there from the
 * start, with `feedback_insights_build_info`.
 *
 * With prom-client 15.1.3 on Bun, and within a fifth of that on Deno, a request costs 0.9 µs in a
 * histogram and 0.3 µs in a counter (0.1 µs in a Map of our own), a scrape 0.3 ms, and the metrics
 * of the process 5 ms of processor time a second.
 */
export const openMetrics = (kind: 'api' | 'worker'): ProcessMetrics => {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const gauge: ProcessMetrics['gauge'] = (described, read) => {
    const collect = collecting<Gauge>(read, (told, { labels = {}, value }) => told.set(labels, value))
    registry.registerMetric(new Gauge({ ...configOf(described), registers: [], collect }))
  }
  const build = { process: kind, version: ownVersion(), runtime: runtimeName() }
  gauge(
    { name: 'feedback_insights_build_info', help: 'Which version runs on what; always 1.', labels: Object.keys(build) },
    () => [{ labels: build, value: 1 }],
  )
  return {
    counter: (described) => new Counter({ ...configOf(described), registers }),
    histogram: (described) => new Histogram({ ...configOf(described), buckets: [...described.buckets], registers }),
    gauge,
    counted: (described, read) => {
      const collect = collecting<Counter>(read, (told, { labels = {}, value }) => told.inc(labels, value))
      registry.registerMetric(new Counter({ ...configOf(described), registers: [], collect }))
    },
    text: () => registry.metrics(),
  }
}

const configOf = ({ name, help, labels = [] }: Described) => ({ name, help, labelNames: labels })

/** Asks for all figures of a metric when it is scraped. */
const collecting = <Metric extends Gauge | Counter>(
  read: () => readonly Figure[],
  tell: (metric: Metric, figure: Figure) => void,
) =>
  function (this: Metric): void {
    this.reset()
    // A metric without labels is at 0 after a reset, and would say so.
    this.remove({})
    for (const figure of read()) tell(this, figure)
  }

/** The figure of a metric without labels, if its value is known. */
export const figureOf = (value: number | undefined): Figure[] => (value === undefined ? [] : [{ value }])

const ownVersion = (): string => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

const runtimeName = (): string => {
  const { bun, deno, node } = process.versions
  return bun !== undefined ? `bun ${bun}` : deno !== undefined ? `deno ${deno}` : `node ${node}`
}
