import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { referringFeedback, takeAtOnce } from './at-once.ts'
import { readPlainConfig } from './config.ts'
import { connectPlain } from './feedback-table.ts'

// The handler that does the same work directly, without a queue.
const config = readPlainConfig()
const sql = connectPlain(config)
new Elysia()
  .use(bearer())
  .post(
    '/feedbacks',
    async ({ bearer: given, body, headers, status }) => {
      if (given !== config.token) return status(401, { error: 'Unknown token' })
      const taken = await takeAtOnce(sql, body, headers['idempotency-key'] ?? null)
      if (taken.kind === 'key reused') return status(422, { error: 'This Idempotency-Key was used with another body' })
      return status(201, { feedback: { id: taken.feedbackId, ...body } })
    },
    { body: referringFeedback },
  )
  .listen({ port: 0, hostname: '127.0.0.1' }, ({ port }) => {
    console.log(JSON.stringify({ event: 'listening', port }))
  })
