import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { IDLE_QUEUE, readPlainConfig } from './config.ts'

const CONCURRENCY = 500

// The worker that does nothing: what the queue itself can do.
const config = readPlainConfig()
const worker = new Worker(IDLE_QUEUE, async () => {}, {
  connection: new Redis(config.redisUrl, { maxRetriesPerRequest: null }),
  prefix: config.prefix,
  concurrency: CONCURRENCY,
})
await worker.waitUntilReady()
console.log(JSON.stringify({ event: 'working' }))
