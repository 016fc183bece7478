import type { Job } from 'bullmq'
import { QUEUE_OF, type SubmissionJob } from '../contract/job.ts'
import { FINISHED_JOBS_KEPT } from '../contract/queues.ts'
import type { RedisClient } from './connect-redis.ts'
import { type ForgetBodies, type JobQueues, leftBegins } from './job-queues.ts'
import { JOBS_AT_ONCE, KEPT_OF_ONE_CALL } from './jobs-at-once.ts'
import { admissionKeys } from './keys.ts'
import { luaScript } from './lua-script.ts'
import { type OpenBooks, type SettledSubmission, settleArguments } from './open-books.ts'

const SETTLE_JOBS = luaScript('settle-jobs', ['body-left', 'finish-jobs', 'settle'])

type WithSettleJobs = { settleJobs(numberOfKeys: number, ...rest: (string | number)[]): Promise<(0 | 1)[]> }

/** A submission that Postgres has settled, its job, the token by which the job is held, and the job's result. */
export type SettledInHand = {
  submission: SubmissionJob
  settled: SettledSubmission
  job: Job
  token: string
  result: unknown
}

export type SettleJobs = (inHand: readonly SettledInHand[]) => Promise<void>

type Dependencies = {
  redis: RedisClient
  prefix: string
  queues: JobQueues
  settlement: Pick<OpenBooks, 'settle'>
  forgetBodies: ForgetBodies
}

/**
 * Takes submissions off the books and finishes their jobs in one step, after which nothing that was submitted is in Redis. A job that this
 * step finishes has its `finishedOn`; a job that another worker holds by now, or that stays for operators, loses its body. A feedback that
 * is drained takes Redis 23 us; with a call each to forget bodies, clear the books and finish jobs it took 26. On a cluster, where books
 * and jobs lie in different slots, bodies are forgotten first, and the worker finishes the jobs. It can be repeated without harm.
 */
export const settleJobsIn = ({ redis, prefix, queues, settlement, forgetBodies }: Dependencies): SettleJobs => {
  redis.defineCommand('settleJobs', { lua: SETTLE_JOBS })
  return async (inHand) => {
    if (redis.isCluster) {
      await forgetBodies(inHand.map(({ submission }) => submission))
      return settlement.settle(inHand.map(({ settled }) => settled))
    }
    const alike = Map.groupBy(
      inHand,
      ({ submission: { version, operation, workspaceId }, token }) => `${version} ${operation} ${workspaceId} ${token}`,
    )
    const calls = [...alike.values()].flatMap((all) =>
      Array.from({ length: Math.ceil(all.length / JOBS_AT_ONCE) }, (_, at) =>
        settleTogether({ redis, prefix, queues }, all.slice(at * JOBS_AT_ONCE, (at + 1) * JOBS_AT_ONCE)),
      ),
    )
    await Promise.all(calls)
  }
}

/** Settles submissions of one workspace and operation whose jobs one token holds. The order of arguments is that of settle-jobs.lua. */
const settleTogether = async (
  { redis, prefix, queues }: Pick<Dependencies, 'redis' | 'prefix' | 'queues'>,
  inHand: readonly SettledInHand[],
): Promise<void> => {
  const [{ submission, token }] = inHand as [SettledInHand]
  const queue = queues[QUEUE_OF[submission.operation]]
  const books = settleArguments(
    admissionKeys(prefix, submission.workspaceId),
    inHand.map(({ settled }) => settled),
  )
  const keys = [...books.keys, ...['active', 'stalled', 'completed'].map((name) => queue.toKey(name))]
  const now = Date.now()
  const { count, age } = FINISHED_JOBS_KEPT
  const settings = [queue.toKey(''), now, token, KEPT_OF_ONE_CALL, count, age, leftBegins(submission), inHand.length]
  const answers = await (redis as RedisClient & WithSettleJobs).settleJobs(
    keys.length,
    ...keys,
    ...settings,
    ...inHand.flatMap(({ settled, job, result }) => [
      job.id!,
      JSON.stringify(result),
      job.attemptsMade + 1,
      settled.number,
    ]),
    ...books.args,
  )
  inHand.forEach(({ job }, index) => {
    if (answers[index] === 1) job.finishedOn = now
  })
}
