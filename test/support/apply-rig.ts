import { randomUUID } from 'node:crypto'
import type { RemovalJob, TaggingJob } from '../../contract/jobs.ts'
import type { SubmissionState } from '../../contract/receipt.ts'
import type { Operation, Submission } from '../../contract/submission.ts'
import { createSharedStrideStore } from '../../db/apply/stride-store.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { createPutOffTagging } from '../../queue/jobs/put-off-tagging.ts'
import type { Log } from '../../queue/log/log.ts'
import { createApplyLogs } from '../../worker/apply/apply-log.ts'
import { createStrideSizes } from '../../worker/apply/stride-size.ts'
import { createQuarantine } from '../../worker/quarantine.ts'
import { createLearningPace } from '../../worker/tagging/learning-pace.ts'
import { entered, openQueueRoom, takeSettings } from './queue-room.ts'
import { freshSchema, hashKey } from './schema.ts'

const STATEMENT_TIMEOUT_MS = 60_000
const REDO_MS = 600_000

type Settled = { id: string; state: SubmissionState; isDeep: boolean }
type Logged = Record<string, unknown>

/** The database of a worker. A test can take it away, or hold back loads and saves. */
const createSql = (sql: Sql) => {
  const state = { isAway: false, refused: 0, held: Promise.resolve() }
  const send = (query: () => unknown): unknown => {
    if (!state.isAway) return query()
    state.refused++
    return Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
  }
  const ofWorker = new Proxy(sql, {
    apply: (target, self, given: unknown[]) =>
      send(() => Reflect.apply<unknown, unknown[], unknown>(target, self, given)),
    get: (target, name, receiver) =>
      name === 'unsafe'
        ? (...given: Parameters<Sql['unsafe']>) => send(() => state.held.then(() => target.unsafe(...given)))
        : (Reflect.get(target, name, receiver) as unknown),
  })
  return { ofWorker, state }
}

/** The part of a worker that applies logs, with its own schema and prefix. `apply` runs a job. */
export const openApplyRig = async () => {
  const room = openQueueRoom()
  const schema = await freshSchema()
  const { sql } = schema
  const { ofWorker, state } = createSql(sql)
  let onceIdle = async (): Promise<void> => {}
  const logs: Log = {
    ...room.log,
    take: async (...given) => {
      const taken = await room.log.take(...given)
      if (taken.some(({ outcome }) => outcome === 'idle')) await onceIdle()
      return taken
    },
  }
  const settled: Settled[] = []
  const lines: [event: string, fields: Logged][] = []
  let offsetMs = 0
  const worker = createApplyLogs({
    ...room,
    logs,
    sql: ofWorker,
    hashKey,
    worker: randomUUID(),
    quarantine: createQuarantine(),
    strideSizes: createStrideSizes(),
    sharedStore: createSharedStrideStore(ofWorker),
    attempts: new Map(),
    purgedWorkspaces: new Set(),
    addTagging: createPutOffTagging(room.queues),
    pace: createLearningPace(() => 0),
    answerWithinMs: STATEMENT_TIMEOUT_MS,
    redoMs: () => REDO_MS,
    mustBacklogYield: async () => false,
    now: () => performance.now() + offsetMs,
    tracing: undefined,
    onApplyTime: () => {},
    onSettled: ({ submissionId: id }, became, { isDeep }) => settled.push({ id, state: became, isDeep }),
    log: (_level, event, fields = {}) => void lines.push([event, fields]),
    stop: new AbortController().signal,
  })
  const stateKey = (workspaceId: string): string => workspaceKeys(room.prefix, workspaceId).state
  const isLeased = async (workspaceId: string): Promise<boolean> =>
    (await room.redis.hexists(stateKey(workspaceId), 'holder')) === 1
  const statesOf = async (workspaceId: string): Promise<Record<string, SubmissionState>> => {
    const rows = await sql<{ id: string; state: SubmissionState }[]>`
      select id, state from submission where workspace_id = ${workspaceId}`
    return Object.fromEntries(rows.map((row) => [row.id, row.state]))
  }

  return {
    sql,
    settled,
    statesOf,
    waitingIn: (workspaceId: string): Promise<Submission[]> => Array.fromAsync(room.log.readWaiting(workspaceId)),
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
    /** Replaces the only entry of a log. */
    rewriteLog: async (workspaceId: string, rewrite: (entry: string) => string): Promise<void> => {
      const { log } = workspaceKeys(room.prefix, workspaceId)
      const [[id, [name, value]]] = (await room.redis.xrange(log, '-', '+')) as [[string, [string, string]]]
      await room.redis.multi().del(log).xadd(log, id, name, rewrite(value)).exec()
    },
    /** Lets this many workers, one after the other, die in quarantine with a stride of one. */
    dieInQuarantine: async (workspaceId: string, deaths: number): Promise<void> => {
      for (let death = 1; death <= deaths; death++) {
        await room.log.take([{ workspaceId, bound: 1 }], takeSettings({ worker: `dead ${death}` }))
        await room.log.noteQuarantine(workspaceId)
        await room.redis.hset(stateKey(workspaceId), 'until', Date.now() - 1)
      }
    },
    /** Runs `work` once: after Redis has found a log idle, before the worker gets this answer. */
    onceIdle: (work: () => Promise<void>): void => {
      onceIdle = () => {
        onceIdle = async () => {}
        return work()
      }
    },
    /** Lets the pauses before further attempts pass. */
    passTime: () => void (offsetMs += 60_000),
    /**
     * Whether Postgres has refused several statements of the worker, and no worker holds the lease.
     */
    hasReleased: async (workspaceId: string): Promise<boolean> => state.refused > 1 && !(await isLeased(workspaceId)),
    isLeased,
    /**
     * Makes each statement fail that inserts a feedback with this description. The returned
     * function lets them succeed again.
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
     * Returns a function that resets the position, and deletes later feedback and receipts, like a
     * standby that lacks the last commits.
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
    /** Holds back the loads and saves of the worker until the returned function is called. */
    holdPostgres: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      state.held = promise
      return resolve
    },
    takePostgresAway: (): (() => void) => {
      state.isAway = true
      return () => void (state.isAway = false)
    },
    wokenIn: async (queue: 'wake' | 'backlog'): Promise<string[]> => {
      const jobs = await room.queues[queue].getJobs(['waiting'])
      return jobs.flatMap(({ data }) => (data as { workspaceIds: string[] }).workspaceIds)
    },
    taggingJobs: async () => (await room.queues.tagging.getJobs(['delayed'])).map(({ data }) => data as TaggingJob),
    removalJobs: async () => (await room.queues.removal.getJobs(['waiting'])).map(({ data }) => data as RemovalJob),
    /** Drains all queues, and forgets the log lines and settled submissions of the last test. */
    startAfresh: async (): Promise<void> => {
      lines.length = 0
      settled.length = 0
      await Promise.all(Object.values(room.queues).map((queue) => queue.drain(true)))
    },
    /** Stops the worker for good, once it has woken the workspaces that it leaves. */
    stop: async (): Promise<void> => {
      await worker.stop()
      await room.wake.ended()
    },
    close: async (): Promise<void> => {
      await worker.stop()
      await room.close()
      await schema.drop()
    },
  }
}

export type ApplyRig = Awaited<ReturnType<typeof openApplyRig>>
