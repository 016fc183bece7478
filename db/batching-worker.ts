import { randomUUID } from 'node:crypto'
import { createRedisBackend, type Job, type JobJson, raw2NextJobData, Worker, type WorkerOptions } from 'bullmq'
import { FINISHED_JOBS_KEPT } from './contract/queues.ts'
import { type Hands, type JobBatches, jobBatches } from './job-batches.ts'
import { jobsAtOnceIn } from './jobs-at-once.ts'
import type { RedisClient } from './redis.ts'

/** A worker with so much in hand fetches nothing more until something is finished: one body can be as large as a thousand others. */
const MOST_BYTES_IN_HAND = 16_000_000

type Processor = (job: Job, lockToken?: string) => Promise<unknown>
type Options = WorkerOptions & { connection: RedisClient; concurrency: number; lockDuration: number }

/**
 * A worker of BullMQ that fetches as many jobs as it has hands free, and finishes with one call those that are done at the same
 * time. BullMQ's own makes a call for each job: one that does nothing costs it 50 µs and Redis 60 µs of processor time, here
 * 24 µs and 23 µs, a thousand in hand.
 */
export class BatchingWorker extends Worker {
  /** In the locks of all its jobs. BullMQ has one for each hand, and a job that is fetched ahead has none yet. */
  readonly #token: string
  readonly #batches: JobBatches
  /** The jobs in hand, with the bytes of their bodies, roughly. */
  readonly #inHand = new Map<Job, number>()
  #bytesInHand = 0

  constructor(name: string, process: Processor, options: Options) {
    const token = randomUUID()
    let batches: JobBatches | undefined
    super(name, process, { ...options, autorun: false }, (...given) => {
      const backend = createRedisBackend(...given)
      const toKey = (key: string): string => backend.toKey(key)
      const held = { toKey, token, lockMs: options.lockDuration, kept: FINISHED_JOBS_KEPT }
      batches = jobBatches(jobsAtOnceIn(options.connection, held))
      return Object.assign(
        backend,
        batched(backend, batches, () => this.#hands()),
      )
    })
    this.#token = token
    this.#batches = batches!
    this.run().catch((error: unknown) => this.emit('error', error as Error))
  }

  protected override moveToActive(_token: string, name?: string): Promise<Job> {
    return super.moveToActive(this.#token, name)
  }

  protected override async nextJobFromJobData(data?: JobJson, id?: string): Promise<Job> {
    const job = await super.nextJobFromJobData(data, id, this.#token)
    if (data && job) {
      this.#inHand.set(job, data.data.length)
      this.#bytesInHand += data.data.length
    }
    return job
  }

  override async processJob(job: Job, token: string): Promise<void | Job> {
    try {
      // The next one is not fetched with the answer, but with others.
      return await super.processJob(job, token, () => false)
    } finally {
      this.#bytesInHand -= this.#inHand.get(job) ?? 0
      this.#inHand.delete(job)
    }
  }

  #hands(): Hands {
    const inHand = this.#inHand.size
    return { inHand, room: this.#bytesInHand >= MOST_BYTES_IN_HAND ? 0 : this.concurrency - inHand }
  }

  override async close(force?: boolean): Promise<void> {
    const left = await this.#batches.close()
    await Promise.allSettled(left.map(({ id }) => this.backend.moveJobFromActiveToWait(id, this.#token)))
    return super.close(force)
  }
}

type Backend = ReturnType<typeof createRedisBackend>

const batched = (backend: Backend, batches: JobBatches, hands: () => Hands) => {
  const moveToActive = backend.moveToActive.bind(backend)
  const moveToCompleted = backend.moveToCompleted.bind(backend)
  return {
    moveToActive: async (...asked: Parameters<Backend['moveToActive']>): Promise<unknown[]> => {
      const next = await batches.next(hands())
      if (next === undefined) return moveToActive(...asked)
      return 'id' in next
        ? (raw2NextJobData([next.fields, next.id, 0, 0]) as unknown[])
        : [null, '', 0, next.delayedUntil]
    },
    moveToCompleted: async (...[job, result, ...rest]: Parameters<Backend['moveToCompleted']>) => {
      const finishedOn = Date.now()
      const attempts = (job as Job).attemptsMade + 1
      const isFinished = await batches.finish({ id: job.id!, result: JSON.stringify(result ?? null), attempts })
      // BullMQ knows how to say what is wrong with it.
      return isFinished ? { result: undefined, finishedOn } : moveToCompleted(job, result, ...rest)
    },
  }
}
