import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { PLAIN_QUEUE, readPlainConfig } from './config.ts'
import { connectPlain, insertFeedback, type PlainFeedback } from './feedback-table.ts'

const CONCURRENCY = 100

// The plain worker: one insert for each job.
const config = readPlainConfig()
const sql = connectPlain(config)
const worker = new Worker<PlainFeedback>(PLAIN_QUEUE, (job) => insertFeedback(sql, job.id!, job.data), {
  connection: new Redis(config.redisUrl, { maxRetriesPerRequest: null }),
  prefix: config.prefix,
  concurrency: CONCURRENCY,
})
await worker.waitUntilReady()
console.log(JSON.stringify({ event: 'working' }))
