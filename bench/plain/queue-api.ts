import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { PLAIN_QUEUE, readPlainConfig } from './config.ts'
import { serveFeedback } from './serve-feedback.ts'

const FINISHED_JOBS_KEPT = 1_000

// The handler with one queue.add.
const config = readPlainConfig()
const queue = new Queue(PLAIN_QUEUE, {
  connection: new Redis(config.redisUrl, { maxRetriesPerRequest: null }),
  prefix: config.prefix,
  defaultJobOptions: { attempts: 3, removeOnComplete: FINISHED_JOBS_KEPT },
})
serveFeedback(config.token, async (id, feedback) => {
  await queue.add('feedback', feedback, { jobId: id })
})
