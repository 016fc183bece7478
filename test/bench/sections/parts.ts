import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { ADMIT } from '../../../queue/ask-admission.ts'
import { NOTE_CARRIER } from '../../../queue/hand-over.ts'
import { READ_BATCH } from '../../../queue/books.ts'
import { SETTLE } from '../../../queue/settle.ts'
import type { Sql } from '../../../db/postgres.ts'
import { API_RULES, describeParts, type Parts, type ProcessParts, WORKER_RULES } from '../figures/parts.ts'
import { readParts } from '../figures/profile.ts'
import { usageOf } from '../figures/usage.ts'
import { makeWorkspaces } from '../installation/make-workspaces.ts'
import { type Service, startService } from '../installation/service.ts'
import { countSettled, untilSettled } from '../installation/settled.ts'
import { type BodyKind, MESSAGES_PER_CONVERSATION } from '../bodies.ts'
import { type CreateSection, loadWith, type Rig, WARM_LOADS } from '../rig.ts'

const MOST_COMMANDS = 10_000_000
/** Which stores all that a statement of a worker has. */
const STORE = 'store'
/** Waits for other statements of a workspace, and does little else. */
const LOCK = 'lock_workspaces'
const US_PER_MS = 1_000
const US_PER_SECOND = 1_000_000

/** Where the processor time of a submission goes, from the request until it is settled. */
export const findParts: CreateSection = (rig) => partsOf(rig, { of: 'feedback of one workspace', name: 'parts' })

export const findContactParts: CreateSection = (rig) =>
  partsOf(rig, { of: 'new contacts', name: 'contact_parts', kind: 'new contact', path: '/contacts/identify' })

export const findConversationParts: CreateSection = (rig) =>
  partsOf(rig, {
    of: `conversations of ${MESSAGES_PER_CONVERSATION} messages`,
    name: 'conversation_parts',
    kind: 'new conversation',
    path: '/conversations',
  })

/** The same where each submission is of another workspace than the one before. */
export const findWorkspaceParts: CreateSection = (rig) => {
  const workspaces = rig.config.workspaces
  return partsOf(rig, {
    of: `feedback of ${workspaces.toLocaleString('en')} workspaces`,
    name: 'workspace_parts',
    workspaces,
  })
}

/** Feedback, unless another kind is named; without `workspaces` all is of the workspace `default`. */
type What = {
  readonly of: string
  readonly name: string
  readonly workspaces?: number
  readonly kind?: BodyKind
  readonly path?: string
}

const partsOf = async (rig: Rig, what: What): ReturnType<CreateSection> => {
  let rounds = 0
  let submissions = 0
  let statements = 0
  let waited = 0
  const sums = new Map<string, ProcessParts>()
  return {
    round: async () => {
      const taken = await measure(rig, what, `${what.name}_${++rounds}`)
      submissions += taken.submissions
      statements += taken.statements
      waited += taken.waited
      for (const one of taken.processes) sums.set(one.name, sumOf(one, sums.get(one.name)))
    },
    report: () =>
      [
        describeParts([...sums.values()], { of: what.of, submissions }),
        `${(submissions / statements).toFixed(0)} submissions are stored by a statement. It waits for its workspaces, for each of them ${(waited / submissions).toFixed(0)} µs.`,
      ].join('\n'),
  }
}

const measure = async (
  rig: Rig,
  what: What,
  name: string,
): Promise<{ submissions: number; statements: number; waited: number; processes: ProcessParts[] }> => {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-profiles-'))
  const profiles = { api: join(directory, 'api.cpuprofile'), worker: join(directory, 'worker.cpuprofile') }
  try {
    // What functions take is counted in connections that are opened from here on.
    const service = await startService(countingCalls(rig.urls), { name, profiles })
    let run: Awaited<ReturnType<typeof loadOnce>>
    try {
      run = await loadOnce(rig, service, what)
    } finally {
      await service.stop()
    }
    const samplesOf = (process: 'api' | 'worker', rules: typeof API_RULES): Parts =>
      readParts(profiles[process], { rules, ...run.period })
    const process = (
      label: string,
      key: keyof typeof run.used,
      [found, rest]: readonly [Parts, string],
    ): ProcessParts => ({ name: label, total: run.used[key], parts: found, rest })
    const runtime = 'runtime: sockets, HTTP, garbage collection'
    return {
      submissions: run.submissions,
      statements: run.statements,
      waited: run.waited,
      processes: [
        process('API', 'api', [samplesOf('api', API_RULES), runtime]),
        process('worker', 'worker', [samplesOf('worker', WORKER_RULES), runtime]),
        process('Redis', 'Redis', [run.redisParts, 'sockets, commands without a script, append-only file']),
        process('Postgres', 'Postgres', [run.postgresParts, 'statements outside functions, commits, write-ahead log']),
      ],
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const countingCalls = ({ databaseUrl, redisUrl }: Rig['urls']): Rig['urls'] => {
  const url = new URL(databaseUrl)
  url.searchParams.set('track_functions', 'all')
  return { databaseUrl: url.href, redisUrl }
}

const loadOnce = async (rig: Rig, service: Service, { workspaces, kind = 'feedback', path = '/feedbacks' }: What) => {
  const { sql, redis } = service
  const tokens = workspaces === undefined ? [service.token] : await makeWorkspaces(sql, workspaces)
  const target = { url: `${service.url}${path}`, tokens }
  const run = async (loads: number): Promise<number> => {
    const settled = await countSettled(service)
    const { accepted } = await loadWith(rig, target, {
      kind,
      idempotencyKeys: true,
      seconds: loads * rig.config.seconds,
    })
    await untilSettled(service, settled + accepted)
    return accepted
  }
  await run(WARM_LOADS)
  const pids = { ...service.pids(), ...rig.serverPids }
  await redis.config('SET', 'slowlog-max-len', String(MOST_COMMANDS))
  await redis.config('SET', 'slowlog-log-slower-than', '0')
  await redis.slowlog('RESET')
  const functionsBefore = await functionTimes(sql)
  const usedBefore = usageOf(pids)
  const fromMs = Date.now()
  const submissions = await run(1)
  const toMs = Date.now()
  const usedAfter = usageOf(pids)
  await redis.config('SET', 'slowlog-log-slower-than', '-1')
  const redisParts = await commandTimes(redis)
  const functionsAfter = await functionTimes(sql)
  const took = (name: string): number => (functionsAfter.get(name)?.us ?? 0) - (functionsBefore.get(name)?.us ?? 0)
  const used = (name: keyof typeof pids): number =>
    (usedAfter[name].cpuSeconds - usedBefore[name].cpuSeconds) * US_PER_SECOND
  return {
    submissions,
    period: { fromMs, toMs },
    used: { api: used('api'), worker: used('worker'), Redis: used('Redis'), Postgres: used('Postgres') },
    redisParts,
    postgresParts: new Map(
      [...functionsAfter.keys()].filter((name) => name !== LOCK).map((name) => [name, took(name)]),
    ),
    waited: took(LOCK),
    statements: (functionsAfter.get(STORE)?.calls ?? 0) - (functionsBefore.get(STORE)?.calls ?? 0),
  }
}

const OUR_SCRIPTS = [
  ['admission', ADMIT],
  ['hand over', NOTE_CARRIER],
  ['fetch', READ_BATCH],
  ['settle', SETTLE],
] as const

/**
 * Microseconds of scripts by what they are for; BullMQ has scripts too. The log names commands that scripts call as well, like those that
 * clients send, and to count them would count twice.
 */
const commandTimes = async (redis: Redis): Promise<Parts> => {
  const ours = new Map(OUR_SCRIPTS.map(([part, script]) => [sha1(script), part]))
  const parts = new Map<string, number>()
  const entries = (await redis.slowlog('GET', MOST_COMMANDS)) as [number, number, number, string[]][]
  for (const [, , microseconds, [command = '', first = '']] of entries) {
    if (!/^eval(?:sha)?$/i.test(command)) continue
    const part = ours.get(first) ?? 'queue and other scripts'
    parts.set(part, (parts.get(part) ?? 0) + microseconds)
  }
  await redis.slowlog('RESET')
  return parts
}

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')

/** How often functions were called, and the microseconds in themselves, without those that they call. */
const functionTimes = async (sql: Sql): Promise<ReadonlyMap<string, { calls: number; us: number }>> => {
  const rows = await sql<{ name: string; calls: number; ms: number }[]>`
    select funcname as name, calls::int, self_time as ms from pg_stat_user_functions where schemaname = current_schema()`
  return new Map(rows.map(({ name, calls, ms }) => [name, { calls, us: ms * US_PER_MS }]))
}

const sumOf = (one: ProcessParts, other: ProcessParts | undefined): ProcessParts => {
  if (other === undefined) return one
  const names = [...new Set([...one.parts.keys(), ...other.parts.keys()])]
  const sums = names.map((name) => [name, (one.parts.get(name) ?? 0) + (other.parts.get(name) ?? 0)] as const)
  return { ...one, total: one.total + other.total, parts: new Map(sums) }
}
