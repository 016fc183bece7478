import { randomUUID } from 'node:crypto'
import { createRedisBackend, type Job, type JobJson, Worker, type WorkerOptions } from 'bullmq'
import { FINISHED_JOBS_KEPT } from '../contract/queues.ts'
import type { RedisClient } from './connect-redis.ts'
import { type Hands, type JobBatches, jobBatches } from './job-batches.ts'
import { type FinishedJob, jobsAtOnceIn } from './jobs-at-once.ts'

/** A worker that holds so many bytes fetches nothing until it finishes a job: one body can be as large as a thousand others. */
const MOST_BYTES_IN_HAND = 16_000_000

type Processor = (job: Job, lockToken?: string) => Promise<unknown>
type Options = WorkerOptions & { connection: RedisClient; concurrency: number; lockDuration: number }

/** Returns the processor's result, or throws its error. */
type Outcome = () => unknown

/**
 * A worker of BullMQ that fetches as many jobs as it has free hands, begins all of them at once, and finishes with one call the jobs that
 * are done at the same time. BullMQ's own worker makes a call for each job and leads each through its loop: a job that does nothing costs
 * it 50 µs and Redis 65 µs of processor time, here 11 µs and 20 µs, with a thousand in hand. A job that fails, is given back, or is held
 * by another worker by now is left to BullMQ.
 */
export class BatchingWorker extends Worker {
  readonly #process: Processor
  /** The token in the locks of all jobs of this worker. BullMQ has a token for each hand. */
  readonly #token: string
  readonly #batches: JobBatches
  /** The jobs that were fetched together, without the first, which BullMQ's loop gets. */
  #others: readonly JobJson[] = []
  /** The work on jobs that were fetched together, by the first of them. */
  readonly #begun = new Map<Job, Promise<unknown>>()
  readonly #outcomes = new Map<Job, Outcome>()
  #inHand = 0
  /** Bytes of the bodies in hand, roughly. */
  #bytesInHand = 0

  constructor(name: string, process: Processor, options: Options) {
    const token = randomUUID()
    let batches: JobBatches | undefined
    super(name, process, { ...options, autorun: false }, (...given) => {
      const backend = createRedisBackend(...given)
      const toKey = (key: string): string => backend.toKey(key)
      const held = { toKey, token, lockMs: options.lockDuration, kept: FINISHED_JOBS_KEPT }
      batches = jobBatches(jobsAtOnceIn(options.connection, held))
      const fetching = {
        batches,
        hands: () => this.#hands(),
        keepOthers: (others: readonly JobJson[]) => (this.#others = others),
      }
      return Object.assign(backend, batched(backend, fetching))
    })
    this.#process = process
    this.#token = token
    this.#batches = batches!
    this.run().catch((error: unknown) => this.emit('error', error as Error))
  }

  protected override moveToActive(_token: string, name?: string): Promise<Job> {
    return super.moveToActive(this.#token, name)
  }

  protected override async nextJobFromJobData(data?: JobJson, id?: string): Promise<Job> {
    const others = this.#others
    this.#others = []
    const first = await super.nextJobFromJobData(data, id, this.#token)
    if (data && first) {
      const all = [
        this.#begin(first, data),
        ...others.map((other) => this.#begin(this.createJob(other, other.id), other)),
      ]
      this.#begun.set(first, Promise.all(all))
    }
    return first
  }

  /** Awaits the work that began when the job was fetched, so that BullMQ's loop knows when it has ended. */
  override async processJob(first: Job): Promise<void> {
    await this.#begun.get(first)
    this.#begun.delete(first)
  }

  async #begin(job: Job, { data }: JobJson): Promise<void> {
    this.#inHand++
    this.#bytesInHand += data.length
    try {
      await this.#work(job)
    } catch (error) {
      this.emit('error', error as Error)
    } finally {
      this.#inHand--
      this.#bytesInHand -= data.length
    }
  }

  async #work(job: Job): Promise<void> {
    job.token = this.#token
    if (!job.deferredFailure) {
      this.lockManager.trackJob(job.id!, this.#token, job.processedOn!)
      const outcome = await this.#outcomeOf(job)
      if (outcome.isFinished) {
        this.lockManager.untrackJob(job.id!)
        job.attemptsMade += 1
        this.emit('completed', job, outcome.result, 'active')
        return
      }
      this.#outcomes.set(job, outcome.again)
    }
    await super.processJob(job, this.#token, () => false)
  }

  async #outcomeOf(job: Job): Promise<{ isFinished: boolean; result?: unknown; again: Outcome }> {
    let result: unknown
    try {
      result = await this.#process(job, this.#token)
    } catch (error) {
      const again = (): never => {
        throw error
      }
      return { isFinished: false, again }
    }
    // The processor may have finished the job already, in one step with its books (settle-jobs.ts).
    const isFinished =
      job.finishedOn !== undefined || (await this.#batches.finish(finishedJob(job, result)).catch(() => false))
    return { isFinished, result, again: () => result }
  }

  protected override async callProcessJob(job: Job): Promise<unknown> {
    const outcome = this.#outcomes.get(job)!
    this.#outcomes.delete(job)
    return outcome()
  }

  #hands(): Hands {
    const isFull = this.#bytesInHand >= MOST_BYTES_IN_HAND
    return { inHand: this.#inHand, room: isFull ? 0 : this.concurrency - this.#inHand }
  }

  override async close(force?: boolean): Promise<void> {
    const left = await this.#batches.close()
    await Promise.allSettled(left.map(({ id }) => this.backend.moveJobFromActiveToWait(id, this.#token)))
    return super.close(force)
  }
}

type Backend = ReturnType<typeof createRedisBackend>
type Fetching = { batches: JobBatches; hands: () => Hands; keepOthers: (others: readonly JobJson[]) => void }

const batched = (backend: Backend, { batches, hands, keepOthers }: Fetching) => {
  const moveToActive = backend.moveToActive.bind(backend)
  const moveToCompleted = backend.moveToCompleted.bind(backend)
  return {
    moveToActive: async (...asked: Parameters<Backend['moveToActive']>): Promise<unknown[]> => {
      const next = await batches.next(hands)
      if (next === undefined) return moveToActive(...asked)
      if ('delayedUntil' in next) return [null, '', 0, next.delayedUntil]
      const [first, ...others] = next
      keepOthers(others)
      return [first!, first!.id, 0, 0]
    },
    // A second attempt, if the connection broke at the first. If the job is not ours any more, BullMQ knows how to say so.
    moveToCompleted: async (...[job, result, ...rest]: Parameters<Backend['moveToCompleted']>) => {
      const finishedOn = Date.now()
      const isFinished = await batches.finish(finishedJob(job as Job, result))
      return isFinished ? { result: undefined, finishedOn } : moveToCompleted(job, result, ...rest)
    },
  }
}

const finishedJob = ({ id, attemptsMade }: Job, result: unknown): FinishedJob => ({
  id: id!,
  result: JSON.stringify(result ?? null),
  attempts: attemptsMade + 1,
})
