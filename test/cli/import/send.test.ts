import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Kind } from '../../../cli/import/kinds.ts'
import { createSender } from '../../../cli/import/send.ts'
import { serveHttp } from '../../support/http-server.ts'

const RECORDS = 3

it('simultaneous records share a batch, except conversations', async () => {
  const sentTo: string[] = []
  const { url, stop } = await serveHttp((request, response, received) => {
    if (request.method === 'GET') return response.writeHead(404).end('{}')
    sentTo.push(request.url!)
    const { items = [] } = JSON.parse(received.toString()) as { items?: unknown[] }
    return response
      .writeHead(200, { 'Submission-Id': 'x' })
      .end(JSON.stringify({ results: items.map(() => ({ status: 201, body: {} })) }))
  })
  const pathsOf = async (kind: Kind): Promise<string[]> => {
    const send = await createSender({ service: { url, token: 'any' }, kind, atOnce: 8, onWait: () => {} })
    await Promise.all(Array.from({ length: RECORDS }, (_, at) => send({ body: '{}', key: `key-${at}` })))
    return sentTo.splice(0)
  }
  try {
    assert.deepEqual(await pathsOf('contacts'), ['/api/v1/batch'])
    assert.deepEqual(await pathsOf('conversations'), Array(RECORDS).fill('/api/v1/conversations'))
  } finally {
    stop()
  }
})
