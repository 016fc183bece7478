import * as v from 'valibot'
import { settledJob, submissionJob } from './db/contract/job.ts'
import { hashKeyFrom } from './db/contract/own-id.ts'
import { rowsOf } from './worker/rows.ts'
import { feedbackPending } from './db/contract/pending.ts'
import { feedbackBody } from './test/bench/bodies.ts'
import { raw2NextJobData, Job } from 'bullmq'
import { v7 } from 'uuid'
const hashKey = hashKeyFrom('ab'.repeat(32))
const N = 20000
const jobs = Array.from({ length: N }, (_, i) => ({ version: 1, operation: 'create_feedback', workspaceId: v7(), submissionId: v7(), number: 1700000000000000 + i, body: feedbackBody(i, { people: 20000 }) }))
const texts = jobs.map((j) => JSON.stringify(j))
const time = (name: string, f: (i: number) => unknown) => { for (let i = 0; i < N; i++) f(i); const t = performance.now(); for (let k = 0; k < 3; k++) for (let i = 0; i < N; i++) f(i); console.log(name.padEnd(30), ((performance.now() - t) * 1000 / N / 3).toFixed(2), 'us') }
time('JSON.parse', (i) => JSON.parse(texts[i]!))
time('is settledJob', (i) => v.is(settledJob, jobs[i]))
time('safeParse submissionJob', (i) => v.safeParse(submissionJob, jobs[i]))
time('rowsOf', (i) => rowsOf(hashKey, jobs[i] as any, 1))
const rows = jobs.map((j) => rowsOf(hashKey, j as any, 1)) as any[]
time('feedbackPending', (i) => feedbackPending({ contact: rows[i].feedback.contact_ref, project: rows[i].feedback.project_ref }, rows[i].feedback.source))
time('stringify row', (i) => JSON.stringify(rows[i]))
const opts = JSON.stringify({ attempts: 8, backoff: { type: 'exponential', delay: 500, jitter: 0.5 }, removeOnComplete: { count: 1000, age: 3600 }, removeOnFail: false, jobId: v7() })
time('raw2NextJobData', (i) => raw2NextJobData([['name', 'create_feedback', 'data', texts[i], 'opts', opts, 'timestamp', '1700000000', 'delay', '0', 'priority', '0', 'processedOn', '1799999', 'atm', '0'], 'id', 0, 0]))
console.log(texts[0]!.length, JSON.stringify(rows[0]), JSON.stringify(rows[0]).length)
