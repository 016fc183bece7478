import type { BatchQueueName, QueueName } from '../contract/queues.ts'
import { booksIn } from '../queue/books.ts'
import type { HandOver } from '../queue/hand-over.ts'
import { backlogProcessor } from './backlog-job.ts'
import { batchProcessor } from './batch-job.ts'
import { batchLives } from './batch-life.ts'
import type { Processor } from './delivery.ts'
import type { WorkerDependencies } from './dependencies.ts'
import type { OnLaneTime } from './lane-times.ts'
import type { Settling } from './settle.ts'
import { taggingProcessor } from './tagging/tagging-processor.ts'

type Given = WorkerDependencies &
  Pick<Settling, 'onSettled'> & {
    handOver: HandOver
    onLaneTime: OnLaneTime
    /** Submissions that this worker has in hand at most. */
    mostInHand: number
    queuesServed: readonly QueueName[]
  }

/** What is done with the jobs of each queue. */
export const createProcessors = (given: Given): Readonly<Record<QueueName, Processor>> => {
  const { redis, prefix, queues, queuesServed } = given
  const serves = async (queue: BatchQueueName): Promise<boolean> =>
    queuesServed.includes(queue) && !(await queues[queue].isPaused())
  const dependencies = { ...given, books: booksIn(redis, prefix), serves }
  const live = batchLives(dependencies)
  const processBatches = batchProcessor(dependencies, live)
  return {
    submissions: processBatches,
    conversations: processBatches,
    purges: processBatches,
    backlogs: backlogProcessor(dependencies, live),
    tagging: taggingProcessor(given),
  }
}
