import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { v7 as newId } from 'uuid'
import { type PlainFeedback, plainFeedback } from './feedback-table.ts'

/**
 * Listens on a free port for POST /feedbacks. Checks token and body, passes the feedback on, and
 * answers 201.
 */
export const serveFeedback = (token: string, take: (id: string, feedback: PlainFeedback) => Promise<void>): void => {
  new Elysia()
    .use(bearer())
    .post(
      '/feedbacks',
      async ({ bearer: given, body, status }) => {
        if (given !== token) return status(401, { error: 'Unknown token' })
        const id = newId()
        await take(id, body)
        return status(201, { feedback: { id, ...body } })
      },
      { body: plainFeedback },
    )
    .listen({ port: 0, hostname: '127.0.0.1' }, ({ port }) => {
      console.log(JSON.stringify({ event: 'listening', port }))
    })
}
