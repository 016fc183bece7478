import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import { connectToAnswer, connectToWork } from '../../queue/connect-redis.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const NOWHERE = ['127.0.0.1', 1] as const

describe('a master that has become a replica and keeps its connections', () => {
  const directory = temporaryDirectory()
  const running = new AsyncDisposableStack()
  let redis: Redis
  let url = ''
  before(async () => {
    const server = await startRedis({ dataDir: join(directory, 'redis') })
    running.defer(server.stop)
    url = server.url
    redis = new Redis(url)
    running.defer(() => redis.disconnect())
  })
  after(() => running.disposeAsync())

  const connected = async (connect: typeof connectToAnswer): Promise<Redis> => {
    const client = connect(url) as Redis
    client.on('error', () => {})
    running.defer(() => client.disconnect())
    await once(client, 'ready')
    return client
  }
  const isLeft = (former: number): Promise<unknown> =>
    until('the connection is left', async () => !String(await redis.client('LIST')).includes(`id=${former} `))

  it('is left by who answers, and what it refused fails', async () => {
    const client = await connected(connectToAnswer)
    const former = await client.client('ID')
    await redis.replicaof(...NOWHERE)
    await assert.rejects(client.incr('answered'), /READONLY/)
    await isLeft(former)
    await redis.replicaof('NO', 'ONE')
    assert.equal(await redis.get('answered'), null)
  })

  it('is left by who works, and what it refused is sent again until it is carried out', async () => {
    const client = await connected(connectToWork)
    const former = await client.client('ID')
    await redis.replicaof(...NOWHERE)
    const counted = client.incr('worked')
    await isLeft(former)
    await redis.replicaof('NO', 'ONE')
    assert.equal(await counted, 1)
  })
})
