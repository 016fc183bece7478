/** One figure of a metric. `suffix` follows the name of the metric; only the parts of a histogram have one. */
type Figure = { labels: Readonly<Record<string, string>>; value: number; suffix?: '_bucket' | '_sum' | '_count' }
export type Metric = {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  figures: readonly Figure[]
}

/** Metrics in the Prometheus text format 0.0.4. A metric without figures still has its HELP and TYPE lines. */
export const metricText = (metrics: readonly Metric[]): string =>
  metrics.map((metric) => `${lines(metric).join('\n')}\n`).join('')

const lines = ({ name, help, type, figures }: Metric): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...figures.map(({ labels, value, suffix = '' }) => `${name}${suffix}${labelText(labels)} ${value}`),
]

const labelText = (labels: Figure['labels']): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

export type Counter = {
  add: (labels: Readonly<Record<string, string>>, by?: number) => void
  /** The sum over all labels. */
  total: () => number
  read: () => Metric
}

/** Counts since the start of the process, for each set of labels. A caller always gives the labels in the same order. */
export const createCounter = (name: string, help: string): Counter => {
  const counts = new Map<string, { labels: Readonly<Record<string, string>>; value: number }>()
  return {
    add: (labels, by = 1) => {
      const key = JSON.stringify(labels)
      counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + by })
    },
    total: () => counts.values().reduce((sum, { value }) => sum + value, 0),
    read: () => ({ name, help, type: 'counter', figures: [...counts.values()] }),
  }
}

export type Histogram = {
  observe: (labels: Readonly<Record<string, string>>, value: number) => void
  /** How many values fell between each bound and the bound before it, over all labels. The last element counts those above all bounds. */
  totals: () => number[]
  read: () => Metric
}

type Observed = { labels: Readonly<Record<string, string>>; counts: number[]; sum: number }

/** Counts how many values fall between `bounds`. These ascend, and each belongs to the range below it. */
export const createHistogram = (name: string, help: string, bounds: readonly number[]): Histogram => {
  const observed = new Map<string, Observed>()
  const empty = (): number[] => Array.from({ length: bounds.length + 1 }, () => 0)
  return {
    observe: (labels, value) => {
      const key = JSON.stringify(labels)
      const entry = observed.get(key) ?? { labels, counts: empty(), sum: 0 }
      const above = bounds.findIndex((bound) => value <= bound)
      const at = above === -1 ? bounds.length : above
      entry.counts[at] = (entry.counts[at] ?? 0) + 1
      entry.sum += value
      observed.set(key, entry)
    },
    totals: () =>
      observed.values().reduce((sums, { counts }) => sums.map((sum, at) => sum + (counts[at] ?? 0)), empty()),
    read: () => ({
      name,
      help,
      type: 'histogram',
      figures: [...observed.values()].flatMap((entry) => figuresOf(entry, bounds)),
    }),
  }
}

const figuresOf = ({ labels, counts, sum }: Observed, bounds: readonly number[]): Figure[] => {
  let below = 0
  const buckets = counts.map((count, at): Figure => {
    below += count
    return {
      labels: { ...labels, le: at < bounds.length ? String(bounds[at]) : '+Inf' },
      value: below,
      suffix: '_bucket',
    }
  })
  return [...buckets, { labels, value: sum, suffix: '_sum' }, { labels, value: below, suffix: '_count' }]
}

/** A gauge with the given figures. */
export const gauge = (name: string, help: string, figures: Metric['figures']): Metric => ({
  name,
  help,
  type: 'gauge',
  figures,
})

/** A gauge of one figure without labels; it has no figure while the value is not known. */
export const gaugeOf = (name: string, help: string, value: number | undefined): Metric =>
  gauge(name, help, value === undefined ? [] : [{ labels: {}, value }])
