import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Webhook as Verifier } from 'standardwebhooks'
import { listWebhooks } from '../../db/webhooks.ts'
import { outputOf, runCommand } from '../support/command.ts'
import { serveHttp } from '../support/http-server.ts'
import { submissionIdOf } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'
import { untilRead } from '../support/until-indexed.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

type Message = {
  type: string
  timestamp: string
  data: { position: number; kind: string; id: string; deleted: boolean }
}
type Listed = Awaited<ReturnType<typeof listWebhooks>>[number]
type Received = { headers: Record<string, string>; text: string; message: Message }

const PROGRAM = 'cli/webhook-command.ts'

/** A receiver with the answers of `answer`. It keeps the deliveries that it confirms. */
const createReceiver = async (answer: (message: Message) => { status: number; headers?: Record<string, string> }) => {
  const received: Received[] = []
  const { url, stop } = await serveHttp((request, response, body) => {
    const text = String(body)
    const message = JSON.parse(text) as Message
    const { status, headers = {} } = answer(message)
    if (status < 300) received.push({ headers: request.headers as Record<string, string>, text, message })
    response.writeHead(status, headers).end()
  })
  return { received, url: `${url}/hook`, stop }
}

describe('webhooks', () => {
  const command = (...words: string[]) => outputOf(service, PROGRAM, ...words)
  const create = async (url: string, ...more: string[]): Promise<{ id: string; secret: string }> => {
    const [first, secret] = (await command('create', '--workspace', service.workspace, '--url', url, ...more)).split(
      '\n',
    )
    return { id: first!.split(' ')[1]!, secret: secret! }
  }
  const statusOf = async (id: string): Promise<string> =>
    (await command('list')).split('\n').find((line) => line.startsWith(id)) ?? ''
  /** As the command lists it, but without a process for each look. */
  const untilListed = (what: string, id: string, is: (found: Listed) => boolean) =>
    until(what, async () => (await listWebhooks(service.all)).some((found) => found.id === id && is(found)))
  const say = async (description: string): Promise<string> =>
    String((await service.submit('/feedbacks', { description, tags: [] })).body.feedback.id)

  it('receive each change after their creation, with a signature', async () => {
    await say('before the webhook')
    await untilRead(service.all, service.workspaceId)
    const { received, url, stop } = await createReceiver(() => ({ status: 204 }))
    const { id, secret } = await create(url)
    const ids = [await say('first'), await say('second')]
    await until('both changes are delivered', async () =>
      ids.every((own) => received.some(({ message }) => message.data.id === own)),
    )
    const verifier = new Verifier(secret)
    for (const { headers, text } of received) verifier.verify(text, headers)
    assert.throws(() => new Verifier(`${secret.slice(0, -6)}AAAAA=`).verify(received[0]!.text, received[0]!.headers))
    assert.ok(!received.some(({ text }) => text.includes('before the webhook')))
    assert.deepEqual([received[0]!.message.type, received[0]!.message.data.deleted], ['feedback.changed', false])
    // The tagger changes the records once more.
    await untilRead(service.all, service.workspaceId)
    await untilListed('the webhook is up to date', id, ({ isBehind }) => !isBehind)
    assert.match(await statusOf(id), /up to date/)
    assert.match(await command('test', id), /confirmed/)
    assert.ok(received.some(({ message }) => message.type === 'webhook.test'))
    await command('delete', id)
    assert.equal(await statusOf(id), '')
    stop()
  })

  it('end with 410, continue when resumed, and deliver again from a position, even when paused', async () => {
    let status = 410
    const { received, url, stop } = await createReceiver(() => ({ status }))
    const { id } = await create(url, '--from', '0')
    await say('gone')
    await untilListed('the webhook has ended', id, ({ state }) => state === 'gone')
    assert.match(await statusOf(id), / {2}gone {2}.*fails: status 410/)
    status = 200
    await command('resume', id)
    await untilListed('the webhook is up to date', id, ({ isBehind }) => !isBehind)
    const earlier = received.length
    await command('pause', id)
    const own = await say('paused')
    assert.match(await statusOf(id), / {2}paused {2}/)
    await command('replay', id, '--from', '0')
    await until('all changes are delivered again', async () => received.length > 2 * earlier)
    await until('the new change is delivered as well', async () =>
      received.some(({ message }) => message.data.id === own),
    )
    await command('delete', id)
    stop()
  })

  it('pass a record that the receiver refuses, and show it until it is delivered', async () => {
    let status = 413
    const { received, url, stop } = await createReceiver((message) => ({
      status: JSON.stringify(message).includes('too large') ? status : 204,
    }))
    const { id } = await create(url)
    const large = await say('too large')
    const other = await say('other')
    await until('the other record is delivered', async () => received.some(({ message }) => message.data.id === other))
    await untilListed('the record is undelivered', id, ({ undelivered }) => undelivered > 0)
    assert.ok((await command('list')).includes(`  undelivered: feedback ${large}  status 413 since`))
    assert.match(await statusOf(id), / {2}1 undelivered {2}/)
    const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
    assert.match(stdout, /^warning +Webhooks have not confirmed \d+ changes?/m)
    status = 204
    await command('resume', id)
    await until('the record is delivered', async () => received.some(({ message }) => message.data.id === large))
    await untilListed('nothing is undelivered', id, ({ undelivered }) => undelivered === 0)
    await command('delete', id)
    stop()
  })

  it('confirm a purge, whose receipt counts the confirmations', async () => {
    let status = 503
    const { received, url, stop } = await createReceiver(() => ({ status, headers: { 'Retry-After': '1' } }))
    const { id } = await create(url)
    const email = 'forgotten@example.org'
    const { feedback } = (await service.submit('/feedbacks', { description: 'x', contact: { email } })).body
    const purge = await service.submit('/contacts/purge', { email }, { token: service.adminToken })
    const consumers = async (): Promise<unknown> => {
      const { body } = await service.get(`/api/v1/submissions/${submissionIdOf(purge)}`)
      return body.submission.consumers
    }
    assert.deepEqual(await consumers(), { total: 1, confirmed: 0 })
    status = 200
    await until('the receipt counts the confirmation', async () =>
      isDeepStrictEqual(await consumers(), { total: 1, confirmed: 1 }),
    )
    const gone = received.filter(({ message }) => message.data.deleted).map(({ message }) => message.data)
    assert.ok(gone.some((tombstone) => tombstone.kind === 'customer' && tombstone.id === feedback.customerId))
    assert.ok(gone.some((tombstone) => tombstone.kind === 'feedback' && tombstone.id === feedback.id))
    await command('delete', id)
    stop()
  })

  it('send nothing to addresses that are not public, and follow no redirect', async () => {
    const { received, stop, url } = await createReceiver(() => ({ status: 200 }))
    const redirecting = await createReceiver(() => ({ status: 307, headers: { Location: url } }))
    const port = new URL(url).port
    for (const [host, setting] of [
      ['localhost', 'localhost'],
      ['[::1]', '::1'],
      ['10.1.2.3', '10.1.2.3'],
    ] as const) {
      const words = ['--workspace', service.workspace, '--url', `http://${host}:${port}/`]
      const { code, stderr } = await runCommand(service, PROGRAM, 'create', ...words)
      assert.equal(code, 1)
      assert.ok(stderr.includes(`add ${setting} to WEBHOOK_ALLOWED_HOSTS`), stderr)
    }
    // A name can get another address after the webhook was made.
    const [{ id: workspaceId }] = await service.all<[{ id: string }]>`
      select id from workspace where name = ${service.workspace}`
    const made = randomUUID()
    await service.all`
      insert into webhook (workspace_id, id, url, state, position)
      values (${workspaceId}, ${made}, ${`http://localhost:${port}/`}, 'active', 0)`
    const { stderr: refusal } = await runCommand(service, PROGRAM, 'test', made)
    assert.match(refusal, /NOT_PUBLIC_ADDRESS.*WEBHOOK_ALLOWED_HOSTS/)
    await command('delete', made)
    const { id } = await create(redirecting.url)
    const { stderr } = await runCommand(service, PROGRAM, 'test', id)
    assert.match(stderr, /status 307/)
    await command('delete', id)
    assert.equal(received.length, 0)
    stop()
    redirecting.stop()
  })

  it('need a whole address, and a command about a webhook needs an existing id', async () => {
    // webhooks-over-http.test.ts has the other addresses that are refused.
    const wanted = ['--workspace', service.workspace, '--url', 'https://:word@example.org/']
    const refused = await runCommand(service, PROGRAM, 'create', ...wanted)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^--url must be/)
    for (const words of ['rotate x', 'delete x', 'test x', 'replay x --from 0']) {
      const { code, stderr } = await runCommand(service, PROGRAM, ...words.split(' '))
      assert.equal(code, 1)
      assert.match(stderr, /^There is no webhook with this id/)
    }
  })
})
