import { randomUUID } from 'node:crypto'
import type { RemovalJob, TaggingJob } from '../../contract/jobs.ts'
import type { SubmissionState } from '../../contract/receipt.ts'
import type { Operation, Submission } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import type { Log } from '../../queue/log/log.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { createApplyLogs } from '../../worker/apply/apply-log.ts'
import { createStrideSizes } from '../../worker/apply/stride-size.ts'
import { createQuarantine } from '../../worker/quarantine.ts'
import { createLearningPace } from '../../worker/tagging/learning-pace.ts'
import { hashKey } from './deliveries.ts'
import { entered, openQueueRoom } from './queue-room.ts'
import { freshSchema } from './schema.ts'

const STATEMENT_TIMEOUT_MS = 60_000
const REDO_MS = 600_000

type Settled = { id: string; state: SubmissionState; isDeep: boolean }
type Logged = Record<string, unknown>

/**
 * The database of a worker. It can be away, and the worker can die when it loads or saves a text.
 */
const createMortalSql = (sql: Sql, deadly?: string) => {
  const state = { isAway: false, isDead: false, refused: 0 }
  const send = (query: () => unknown): unknown => {
    if (state.isDead) return new Promise(() => {})
    if (!state.isAway) return query()
    state.refused++
    return Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
  }
  const mortal = new Proxy(sql, {
    apply: (target, self, given: unknown[]) =>
      send(() => Reflect.apply<unknown, unknown[], unknown>(target, self, given)),
    get: (target, name, receiver) => {
      if (name !== 'unsafe') return Reflect.get(target, name, receiver) as unknown
      return (...given: Parameters<Sql['unsafe']>) => {
        state.isDead ||= deadly !== undefined && textOf(given).includes(deadly)
        return send(() => target.unsafe(...given))
      }
    },
  })
  return { mortal, state }
}

/** Parameters are texts, or values that the driver writes as JSON. */
const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

/** The loop of a worker, with its own schema and prefix. A test calls it, instead of a job. */
export const openApplyRig = async () => {
  const room = openQueueRoom()
  const schema = await freshSchema(4)
  const { sql } = schema
  const { mortal, state } = createMortalSql(sql)
  const settled: Settled[] = []
  const lines: [event: string, fields: Logged][] = []
  let offsetMs = 0
  const createWorker = (logs: Log, database: Sql) =>
    createApplyLogs({
      ...room,
      logs,
      sql: database,
      hashKey,
      worker: randomUUID(),
      quarantine: createQuarantine(),
      strideSizes: createStrideSizes(),
      attempts: new Map(),
      purgedWorkspaces: new Set(),
      pace: createLearningPace(() => 0),
      answerWithinMs: STATEMENT_TIMEOUT_MS,
      redoMs: () => REDO_MS,
      othersWait: async () => false,
      now: () => performance.now() + offsetMs,
      tracing: undefined,
      onApplyTime: () => {},
      onSettled: ({ submissionId: id }, became, { isDeep }) => settled.push({ id, state: became, isDeep }),
      log: (_level, event, fields = {}) => void lines.push([event, fields]),
      stop: new AbortController().signal,
    })
  const worker = createWorker(room.log, mortal)
  const stateKey = (workspaceId: string): string => workspaceKeys(room.prefix, workspaceId).state
  const endLease = (workspaceId: string) => room.redis.hset(stateKey(workspaceId), 'until', 1)
  const statesOf = async (workspaceId: string): Promise<Record<string, SubmissionState>> => {
    const rows = await sql<{ id: string; state: SubmissionState }[]>`
      select id, state from submission where workspace_id = ${workspaceId}`
    return Object.fromEntries(rows.map((row) => [row.id, row.state]))
  }
  const waitingIn = async (workspaceId: string): Promise<Submission[]> => {
    const waiting: Submission[] = []
    for await (const submission of room.log.readWaiting(workspaceId)) waiting.push(submission)
    return waiting
  }

  return {
    sql,
    settled,
    statesOf,
    waitingIn,
    logged: (event: string): Logged[] => lines.flatMap(([name, fields]) => (name === event ? [fields] : [])),
    apply: async (workspaceIds: readonly string[], isDeep = false): Promise<void> => {
      await worker.apply(workspaceIds, isDeep)
      await room.wake.ended()
    },
    makeWorkspace: async (): Promise<string> => (await createWorkspace(sql, randomUUID()))!.id,
    admit: async (workspaceId: string, bodies: readonly object[], operation: Operation = 'create_feedback') => {
      const requests = bodies.map((body) => room.admit({ workspaceId, operation, bodyText: JSON.stringify(body) }))
      return (await Promise.all(requests)).map((admission) => entered(admission).submissionId)
    },
    /** Lets the pauses before further attempts pass. */
    passTime: () => void (offsetMs += 60_000),
    leaseOf: async (workspaceId: string): Promise<'held' | 'released'> =>
      state.refused > 1 && (await room.redis.hexists(stateKey(workspaceId), 'holder')) === 0 ? 'released' : 'held',
    /** Lets each worker die when it loads or saves this text. Returns the number of deaths. */
    applyWithDeaths: async (workspaceId: string, text: string): Promise<number> => {
      for (let deaths = 0; ; deaths++) {
        const own = createMortalSql(sql, text)
        const isDead = (): boolean => own.state.isDead
        const dying = createWorker(logOfMortal(room.log, isDead), own.mortal)
        await Promise.race([dying.apply([workspaceId], true), untilTrue(isDead)])
        dying.stop()
        if (!isDead() && (await waitingIn(workspaceId)).length === 0) return deaths
        await endLease(workspaceId)
      }
    },
    /**
     * Makes statements fail that write a feedback with this description. Returns a function that
     * ends this.
     */
    failOn: async (description: string, code: string): Promise<() => Promise<void>> => {
      await sql.unsafe(`
        create function fail_stubbornly() returns trigger language plpgsql as
        $$ begin raise exception using errcode = '${code}'; end $$;
        create trigger stubborn before insert on feedback for each row when (new.description = '${description}')
        execute function fail_stubbornly()`)
      return async () => {
        await sql.unsafe('drop trigger stubborn on feedback; drop function fail_stubbornly')
      }
    },
    /**
     * Returns a function that resets Postgres to the current state of the workspace, like a standby
     * that lacks the last commits.
     */
    rememberPosition: async (workspaceId: string): Promise<() => Promise<void>> => {
      const [row] = await sql`select * from workspace_progress where workspace_id = ${workspaceId}`
      return async () => {
        const position = Number(row!['applied_number'])
        await sql`delete from feedback where workspace_id = ${workspaceId} and number > ${position}`
        await sql`delete from submission where workspace_id = ${workspaceId} and acceptance_number > ${position}`
        await sql`update workspace_progress set ${sql(row!)} where workspace_id = ${workspaceId}`
      }
    },
    takePostgresAway: (): (() => void) => {
      state.isAway = true
      return () => void (state.isAway = false)
    },
    backlogJobs: async (): Promise<string[]> => {
      const jobs = await room.queues.backlog.getJobs(['waiting'])
      return jobs.flatMap(({ data }) => (data as { workspaceIds: string[] }).workspaceIds)
    },
    taggingJobs: async () => (await room.queues.tagging.getJobs(['waiting'])).map(({ data }) => data as TaggingJob),
    removalJobs: async () => (await room.queues.removal.getJobs(['waiting'])).map(({ data }) => data as RemovalJob),
    forgetJobs: async (): Promise<void> => {
      lines.length = 0
      settled.length = 0
      await Promise.all(Object.values(room.queues).map((queue) => queue.drain()))
    },
    close: async (): Promise<void> => {
      worker.stop()
      await room.close()
      await schema.drop()
    },
  }
}

export type ApplyRig = Awaited<ReturnType<typeof openApplyRig>>

/** A dead worker neither releases leases nor reports that it survived. */
const logOfMortal = (log: Log, isDead: () => boolean): Log => ({
  ...log,
  release: async (...given) => (isDead() ? undefined : log.release(...given)),
  renew: async (...given) => (isDead() ? undefined : log.renew(...given)),
  noteSurvived: async (...given) => (isDead() ? undefined : log.noteSurvived(...given)),
})

const untilTrue = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1))
}
