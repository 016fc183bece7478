import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createClient, RequestError, verifyWebhook, type WebhookMessage } from '../../client/client.ts'
import { outputOf, runCommand } from '../support/command.ts'
import { serveHttp } from '../support/http-server.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const PROGRAM = 'cli/webhook-command.ts'
type Posted = { body: string; headers: Record<string, string>; message: WebhookMessage }

/** A receiver that confirms everything. */
const receive = async () => {
  const posted: Posted[] = []
  const { url, stop } = await serveHttp((request, response, bytes) => {
    const body = String(bytes)
    posted.push({
      body,
      headers: request.headers as Record<string, string>,
      message: JSON.parse(body) as WebhookMessage,
    })
    response.writeHead(204).end()
  })
  const about = (id: string): WebhookMessage[] =>
    posted.map(({ message }) => message).filter(({ data }) => data.id === id)
  return { posted, about, url: `${url}/hook`, stop }
}

const workspaceOf = async () => {
  const workspace = `webhooks ${crypto.randomUUID()}`
  const own = await ownWorkspace({ sql: service.all, urls: service.urls }, workspace)
  const client = createClient({ url: service.urls[0]!, token: own.adminToken, attempts: 1 })
  const say = async (body: object): Promise<string> => String((await own.submit('/feedbacks', body)).body.feedback.id)
  return { own, workspace, client, say }
}

describe('webhooks over HTTP', () => {
  it('are created, listed and deleted by an admin, and their secret is shown once', async () => {
    const { own, client, say } = await workspaceOf()
    const { posted, url, stop } = await receive()
    const { webhook, secret } = await client.createWebhook({ url })
    assert.deepEqual(
      [webhook.url, webhook.state, webhook.kinds, webhook.filter, webhook.holdUntilTagged],
      [url, 'active', null, null, false],
    )
    const { webhooks } = await client.listWebhooks()
    assert.deepEqual(webhooks, [await client.getWebhook(webhook.id)])
    assert.ok(!JSON.stringify(webhooks).includes(secret))
    const id = await say({ description: 'x', tags: [] })
    await until('the message arrives', async () => posted.some(({ message }) => message.data.id === id))
    for (const { body, headers } of posted) await verifyWebhook(secret, { body, headers })
    for (const token of [own.readToken, own.accessToken])
      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['GET', `/${webhook.id}`],
        ['DELETE', `/${webhook.id}`],
      ]) {
        const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
        const answer = await fetch(`${service.urls[0]}/api/v1/webhooks${path}`, { method: method!, headers })
        assert.equal(answer.status, 403, `${method} ${path}`)
      }
    const other = await workspaceOf()
    await assert.rejects(other.client.getWebhook(webhook.id), /no such record/)
    await assert.rejects(other.client.deleteWebhook(webhook.id), /no such record/)
    await client.deleteWebhook(webhook.id)
    assert.deepEqual(await client.listWebhooks(), { webhooks: [] })
    await assert.rejects(client.deleteWebhook(webhook.id), /no such record/)
    stop()
  })

  it('are refused with a wrong body, an address that is not public, or when there are 20', async () => {
    const { client } = await workspaceOf()
    const url = 'https://example.com/hooks'
    const refused: [settings: object, problem: RegExp][] = [
      [{}, /url is required/],
      [{ url: 'ftp://example.com' }, /url must be an address/],
      [{ url: 'example.com' }, /url must be an address/],
      [{ url: 'https://a@example.com' }, /url must be an address/],
      [{ url: 'https://a:b@example.com' }, /url must be an address/],
      [{ url: 'http://10.1.2.3/' }, /url|10\.1\.2\.3 has an address outside the public internet/],
      [{ url, kinds: ['person'] }, /kinds\.0 must be one of feedback, customer/],
      [{ url, kinds: [] }, /kinds must be at least one kind/],
      [{ url, kinds: ['account'], filter: { source: 'x' } }, /kinds must be with feedback among them/],
      [{ url, filter: { sauce: 'x' } }, /filter\.sauce must be one of the filters q, source/],
      [{ url, filter: { accountId: 'x' } }, /filter\.accountId must be an id of this service/],
      [{ url, filter: { fields: { plan: 'trial' } } }, /field\.plan is not declared/],
      [{ url, from: 1e17 }, /from must be a position/],
      [{ url, holdUntilTagged: 'perhaps' }, /holdUntilTagged must be true or false/],
    ]
    for (const [settings, problem] of refused)
      await assert.rejects(client.createWebhook(settings as { url: string }), (error) => {
        assert.ok(error instanceof RequestError && error.status === 400, JSON.stringify(settings))
        assert.match(error.message, problem)
        return true
      })
    const { url: own, stop } = await receive()
    for (let at = 0; at < 20; at++) await client.createWebhook({ url: own })
    await assert.rejects(client.createWebhook({ url: own }), /at most 20 webhooks/)
    for (const { id } of (await client.listWebhooks()).webhooks) await client.deleteWebhook(id)
    stop()
  })

  it('post their kinds only, feedback that matches the filter, and every tombstone of their kinds', async () => {
    const { own, client, say } = await workspaceOf()
    const { posted, about, url, stop } = await receive()
    const filter = { source: 'Mail', ratingMax: '2', tag: 'export' }
    const { webhook } = await client.createWebhook({ url, filter } as never)
    assert.deepEqual([webhook.kinds, webhook.filter], [['feedback'], { source: 'Mail', ratingMax: 2, tag: ['export'] }])
    const body = { description: 'x', source: 'Mail', rating: 1, tags: ['export', 'b'] }
    const others = [
      await say({ ...body, source: 'Shop' }),
      await say({ ...body, rating: 3 }),
      await say({ ...body, tags: ['b'] }),
    ]
    const contact = { email: 'leaves@example.org' }
    const purged = await say({ ...body, rating: 5, contact })
    const changing = await say({ ...body, sourceId: 'changes' })
    await until('the matching feedback arrives', async () => about(changing).length > 0)
    await say({ ...body, sourceId: 'changes', rating: 5 })
    await own.submit('/contacts/purge', contact, { token: own.adminToken })
    const last = await say(body)
    await until(
      'the tombstone and the last feedback arrive',
      async () => about(last).length > 0 && about(purged).length > 0,
    )
    assert.deepEqual(
      about(changing).map(({ data }) => data.record?.['rating' as never]),
      [1],
      'nothing tells that it left the filter',
    )
    assert.deepEqual(
      about(purged).map(({ type }) => type),
      ['feedback.deleted'],
    )
    for (const id of others) assert.deepEqual(about(id), [])
    assert.ok(posted.every(({ message }) => message.data.kind === 'feedback'))
    const status = async () => client.getWebhook(webhook.id)
    await until('its position is past all changes', async () => !(await status()).isBehind)
    assert.equal((await status()).undelivered, 0)
    await client.deleteWebhook(webhook.id)
    stop()
  })

  it('hold a feedback until it is tagged, so that it comes as one message', async () => {
    const { client, say } = await workspaceOf()
    const { about, url, stop } = await receive()
    const { webhook } = await client.createWebhook({ url, kinds: ['feedback'], holdUntilTagged: true })
    const ids = [
      await say({ description: 'The export of invoices fails' }),
      await say({ description: 'x', tags: ['given'] }),
    ]
    await until('both arrive', async () => ids.every((id) => about(id).length > 0))
    await until('nothing is undelivered', async () => {
      const { isBehind, undelivered } = await client.getWebhook(webhook.id)
      return !isBehind && undelivered === 0
    })
    for (const id of ids) {
      assert.equal(about(id).length, 1)
      const [{ data }] = about(id) as [WebhookMessage]
      assert.ok(data.kind === 'feedback' && Array.isArray(data.record?.tags))
    }
    await client.deleteWebhook(webhook.id)
    stop()
  })

  it('have the same kinds, filter and hold by the command', async () => {
    const { workspace, client } = await workspaceOf()
    const { url, stop } = await receive()
    const where = ['create', '--workspace', workspace, '--url', url]
    const filter = 'source=Mail&tag=a&tag=b&satisfactionMax=0.4'
    await outputOf(service, PROGRAM, ...where, '--kinds', 'feedback,account', '--filter', filter, '--hold-until-tagged')
    const { webhooks } = await client.listWebhooks()
    const [webhook] = webhooks
    assert.deepEqual(
      [webhook?.kinds, webhook?.filter, webhook?.holdUntilTagged],
      [['feedback', 'account'], { source: 'Mail', tag: ['a', 'b'], satisfactionMax: 0.4 }, true],
    )
    assert.match(
      await outputOf(service, PROGRAM, 'list'),
      /feedback,account {2}\{.*"source":"Mail".*\} {2}holds until tagged/,
    )
    for (const [words, says] of [
      [['--kinds', 'person'], /--kinds\.0 must be one of feedback/],
      [['--filter', 'sauce=x'], /--filter\.sauce must be one of the filters/],
      [['--filter', 'field.plan=x'], /fields that no source declares: plan/],
      [['--kinds', 'account', '--filter', 'source=x'], /--kinds must be with feedback among them/],
    ] as const) {
      const { code, stderr } = await runCommand(service, PROGRAM, ...where, ...words)
      assert.equal(code, 1)
      assert.match(stderr, says)
    }
    await client.deleteWebhook(webhook!.id)
    stop()
  })
})
