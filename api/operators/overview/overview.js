// Draws the figures of /admin/overview.json every few seconds. It uses no framework, loads nothing
// from other hosts, and inserts texts only as text.

/**
 * The folder of this script. The address of the page may contain a token, and browsers fetch
 * nothing relative to such an address.
 */
const HERE = location.origin + new URL('.', import.meta.url).pathname
const WIDTH = 300
const HEIGHT = 100
/** Keeps the strokes of curves away from the frame. */
const MARGIN = 6
/** A curve has a gap between points that are at least this many intervals apart. */
const GAP_INTERVALS = 4
const POINTS_KEPT = 240
const TIMEOUT_MS = 8_000

const rate = (value) => `${short(value)}/s`
const share = (value) => (value < 0.005 ? '–' : `${Math.round(100 * value)} %`)
const amount = (value) => short(value)
const duration = (seconds) => {
  if (seconds < 1) return `${short(seconds * 1_000)} ms`
  if (seconds < 120) return `${short(seconds)} s`
  return seconds < 7_200 ? `${short(seconds / 60)} min` : `${short(seconds / 3_600)} h`
}
const bytes = (value) => {
  if (value < 1_048_576) return `${short(value / 1_024)} KiB`
  return value < 1_073_741_824 ? `${short(value / 1_048_576)} MiB` : `${short(value / 1_073_741_824)} GiB`
}
const short = (value) => new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(value)

/** The curves that show at a glance whether work arrives and gets done. */
const MAIN_CURVES = [
  {
    title: 'Submissions a second',
    unit: rate,
    series: { accepted: 'acceptedPerSecond', refused: 'refusedPerSecond', applied: 'storedPerSecond' },
  },
  { title: 'Oldest submission or job', unit: duration, series: { oldest: 'oldestSeconds' } },
  { title: 'From acceptance to applied', unit: duration, series: { '95 % within': 'storageSeconds' } },
]
const OTHER_CURVES = [
  { title: 'Jobs waiting', unit: amount, series: { 'all queues': 'waiting' } },
  { title: 'Texts tagged a second', unit: rate, series: { tagged: 'taggedPerSecond' } },
  { title: 'Failed attempts a second', unit: rate, series: { failed: 'failedPerSecond' } },
  { title: 'Dead submissions', unit: amount, series: { dead: 'dead' } },
  { title: 'Ledger difference', unit: amount, series: { difference: 'difference' } },
  { title: 'Memory of Redis', unit: bytes, series: { used: 'redisUsedBytes', 'at most': 'redisMaxBytes' } },
  { title: 'Postgres: wait and answer', unit: duration, series: { slowest: 'postgresSeconds' } },
  { title: 'Bodies in hand of an API', unit: bytes, series: { most: 'bytesInHand' } },
  { title: 'Event-loop delay', unit: duration, series: { 'slowest process': 'loopDelaySeconds' } },
  { title: 'Purges under way', unit: amount, series: { purges: 'purgesUnderWay' } },
]
const CLASSES = ['first', 'second', 'third']

const VERDICTS = {
  well: '✓ All is well',
  attention: '! Needs attention',
  trouble: '✗ Trouble',
  unknown: 'Looking…',
}

const byId = (id) => document.getElementById(id)
const make = (name, text) => {
  const element = document.createElement(name)
  if (text !== undefined) element.textContent = text
  return element
}
const makeSvg = (name, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  return element
}

const addCurveTo =
  (place) =>
  ({ title, unit, series }) => {
    const figure = make('figure')
    const caption = make('figcaption')
    const values = make('p')
    caption.append(make('h3', title), values)
    const svg = makeSvg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' })
    svg.append(makeSvg('path', { class: 'grid', d: `M0 1H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 1}H${WIDTH}` }))
    const lines = Object.entries(series).map(([name, key], at) => {
      const line = makeSvg('path', { class: CLASSES[at], 'data-series': key })
      const value = make('span')
      value.className = CLASSES[at]
      svg.append(line)
      values.append(value)
      return { name, key, line, value }
    })
    const scale = make('div')
    scale.className = 'scale'
    const [from, top] = [make('span'), make('span')]
    scale.append(from, top)
    figure.append(caption, svg, scale)
    byId(place).append(figure)
    return { title, unit, lines, svg, from, top }
  }

const drawCurve = ({ title, unit, lines, svg, from, top }, points, everySeconds) => {
  const known = lines.flatMap(({ key }) => points.map((point) => point[key])).filter((value) => value !== null)
  const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)]
  const begin = points[0]?.at ?? 0
  const span = Math.max(points.at(-1)?.at - begin, 1)
  const height = high - low || 1
  const place = (point, key) => ({
    x: 2 + ((point.at - begin) / span) * (WIDTH - 4),
    y: HEIGHT - MARGIN - ((point[key] - low) / height) * (HEIGHT - 2 * MARGIN),
  })
  const labels = lines.map(({ name, key, line, value }) => {
    line.setAttribute('d', pathOf(points, key, { place, gapMs: everySeconds * 1_000 * GAP_INTERVALS }))
    const latest = points.at(-1)?.[key] ?? null
    value.textContent = `${name} ${latest === null ? '–' : unit(latest)}`
    return value.textContent
  })
  from.textContent = `last ${duration(span / 1_000)}`
  top.textContent = low < 0 ? `${unit(low)} to ${unit(high)}` : `up to ${unit(high)}`
  svg.setAttribute('aria-label', `${title}: now ${labels.join(', ')}; ${top.textContent} in the ${from.textContent}`)
}

const pathOf = (points, key, { place, gapMs }) => {
  let path = ''
  let former
  for (const point of points) {
    if (point[key] === null) continue
    const { x, y } = place(point, key)
    const isNext = former !== undefined && point.at - former.at < gapMs
    // A point without a neighbour would be invisible, so each start of a line gets a dash.
    path += isNext ? `L${x.toFixed(1)} ${y.toFixed(1)}` : `M${(x - 1).toFixed(1)} ${y.toFixed(1)}h2`
    former = point
  }
  return path
}

const showState = (verdict, findings) => {
  byId('state').className = verdict
  // Screen readers read out a text whenever it is set, so set it only when it changes.
  const list = findings.map(({ what, remedy }) => `${what} ${remedy}`)
  if (byId('verdict').textContent !== VERDICTS[verdict]) byId('verdict').textContent = VERDICTS[verdict]
  if (byId('findings').textContent === list.join('')) return
  byId('findings').replaceChildren(
    ...findings.map(({ what, remedy }) => {
      const item = make('li')
      item.append(make('strong', what), ` ${remedy}`)
      return item
    }),
  )
}

const showQueues = (queues) => {
  const rows = Object.entries(queues ?? {}).map(([name, { waiting, active, delayed, failed, oldestSeconds }]) => {
    const row = make('tr')
    const head = make('th')
    head.scope = 'row'
    const link = make('a', name)
    link.href = `${HERE}queues/queue/${encodeURIComponent(name)}`
    head.append(link)
    const cells = [...[waiting, active, delayed, failed].map(amount), oldestSeconds > 0 ? duration(oldestSeconds) : '–']
    row.append(head, ...cells.map((cell) => make('td', cell)))
    return row
  })
  byId('queues').replaceChildren(...rows)
}

/** Shows names, which the operator chose, and ids, which logs and metrics have. */
const showWorkspaces = (workspaces) => {
  const rows = (workspaces ?? []).map(({ id, name, waiting, oldestSeconds, applyingShare }) => {
    const row = make('tr')
    const head = make('th', name)
    head.scope = 'row'
    head.append(make('small', id))
    const cells = [amount(waiting), waiting > 0 ? duration(oldestSeconds) : '–', share(applyingShare)]
    row.append(head, ...cells.map((cell) => make('td', cell)))
    return row
  })
  byId('workspaces').replaceChildren(...rows)
  byId('workspaces-now').hidden = rows.length === 0
}

const showFacts = (point) => {
  const facts = {
    'API processes': point.apis,
    'Worker processes': point.workers,
    Redis: point.redisUp ? 'answers' : 'does not answer',
    Postgres: point.postgresUp ? 'answers' : 'does not answer',
    'Memory that Redis may use':
      point.redisMaxBytes === 0 ? 'no limit' : point.redisMaxBytes && bytes(point.redisMaxBytes),
    'Purged keys': point.purgedKeys,
    'Webhooks that fail': point.webhooksFailing,
    'Webhooks that have ended': point.webhooksEnded,
    'Undelivered changes': point.changesUndelivered,
  }
  byId('facts').replaceChildren(
    ...Object.entries(facts).map(([name, value]) => {
      const fact = make('div')
      fact.append(make('dt', name), make('dd', value === null ? 'not known' : String(value)))
      return fact
    }),
  )
}

const curves = [...MAIN_CURVES.map(addCurveTo('curves')), ...OTHER_CURVES.map(addCurveTo('more-curves'))]
let points = []
let everySeconds = 5

const whyNoAnswer = ({ name, message }) => {
  if (name === 'TimeoutError') return `An answer took more than ${TIMEOUT_MS / 1_000} s.`
  return name === 'TypeError' ? 'The API cannot be reached.' : message
}

const look = async () => {
  try {
    const since = points.at(-1)?.at ?? 0
    const address = `${HERE}overview.json?since=${since}`
    const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (!response.ok) throw new Error(`The service answered ${response.status}.`)
    const overview = await response.json()
    everySeconds = overview.everySeconds
    // A balancer may send each request to another API process, and each process has its own points.
    points = [...points, ...overview.points].toSorted((a, b) => a.at - b.at).slice(-POINTS_KEPT)
    showState(overview.verdict, overview.findings)
    byId('when').textContent = `As of ${new Date().toLocaleTimeString()}, updated every ${everySeconds} s.`
    const latest = points.at(-1)
    if (latest === undefined) return
    // 0 means no limit, which is no place in a curve.
    const drawn = points.map((point) => ({ ...point, redisMaxBytes: point.redisMaxBytes || null }))
    for (const curve of curves) drawCurve(curve, drawn, everySeconds)
    showQueues(overview.queues)
    showWorkspaces(overview.workspaces)
    showFacts(latest)
  } catch (error) {
    showState('trouble', [
      {
        what: 'This page gets no figures from the API.',
        remedy: `The figures below are old. Check that the API process runs, and read its log. ${whyNoAnswer(error)}`,
      },
    ])
  } finally {
    setTimeout(look, everySeconds * 1_000)
  }
}
void look()
