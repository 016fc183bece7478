import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createClient, RequestError } from '../../client/client.ts'
import { outputOf } from '../support/command.ts'
import { serveHttp } from '../support/http-server.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const DAY_MS = 86_400_000
const [PEOPLE_A_DAY, DAYS, WITH_PROBLEM] = [3, 60, 12]
const SUBJECTS = ['invoice', 'delivery', 'search', 'password', 'calendar']

type Posted = { text?: string; type?: string; data?: { id: string; record?: { name?: string } } }

/** A receiver that confirms everything. */
const receive = async () => {
  const posted: Posted[] = []
  const { url, stop } = await serveHttp((_, response, bytes) => {
    posted.push(JSON.parse(String(bytes)) as Posted)
    response.writeHead(200).end('ok')
  })
  return { posted, url: `${url}/hook`, stop }
}

const item = (
  description: string,
  { daysAgo, person, ...more }: { daysAgo: number; person: number; tags?: string[] },
) => ({
  operation: 'create_feedback' as const,
  body: {
    description,
    source: 'App',
    createdAt: new Date(Date.now() - daysAgo * DAY_MS).toISOString(),
    contact: { email: `person-${person}@example.com` },
    ...more,
  },
})

describe('an alert', () => {
  it('comes by GET, in the feed, to webhooks and to Slack, and goes with the texts', async () => {
    const workspace = `alerts ${crypto.randomUUID()}`
    const own = await ownWorkspace({ sql: service.all, urls: service.urls }, workspace)
    const client = createClient({ url: service.urls[0]!, token: own.adminToken, attempts: 1 })
    const submit = createClient({ url: service.urls[0]!, token: own.accessToken, attempts: 1 })
    const [standard, slack] = [await receive(), await receive()]
    await client.createWebhook({ url: standard.url, kinds: ['alert'] })
    const { webhook } = await client.createWebhook({ url: slack.url, format: 'slack' })
    assert.deepEqual([webhook.format, webhook.kinds], ['slack', ['alert', 'digest']])
    const usual = Array.from({ length: PEOPLE_A_DAY * DAYS }, (_, at) =>
      item(`The ${SUBJECTS[at % SUBJECTS.length]!} is as number ${at} says`, {
        daysAgo: 1 + Math.floor(at / PEOPLE_A_DAY),
        person: at,
      }),
    )
    const problem = Array.from({ length: WITH_PROBLEM }, (_, at) =>
      item(`It is empty after ${at} hours`, { daysAgo: 0, person: 1_000 + at, tags: ['battery <&> light'] }),
    )
    await submit.submitBatch([...usual, ...problem])
    const ids = async () =>
      service.all<{ id: string }[]>`
      select record_id as id from meaning_share where workspace_id = ${own.workspaceId}`
    await until('all texts are read', async () => (await ids()).length === usual.length + problem.length)
    const look = () => service.all`update alert_look set due_at = now() where workspace_id = ${own.workspaceId}`
    await look()
    const alert = await until('the alert is found', async () => {
      const { alerts } = await client.listAlerts()
      return alerts.find(({ name }) => name === 'battery <&> light')
    })
    assert.deepEqual([alert.change, alert.people], ['new', WITH_PROBLEM])
    assert.deepEqual(await client.getAlert(alert.id), alert)
    await until('the webhook has it', async () =>
      standard.posted.some(({ type, data }) => type === 'alert.changed' && data!.id === alert.id),
    )
    const { text } = await until('Slack has it', async () =>
      slack.posted.find((each) => each.text?.includes('battery')),
    )
    assert.match(text!, /^\*New \w+ battery &lt;&amp;&gt; light\*: 12 people in /)
    assert.ok(slack.posted.every((each) => Object.keys(each).join() === 'text'))

    for (let at = 0; at < WITH_PROBLEM; at++)
      await own.submit('/contacts/purge', { email: `person-${1_000 + at}@example.com` }, { token: own.adminToken })
    await until('the alert is gone', async () => !(await client.listAlerts()).alerts.some(({ id }) => id === alert.id))
    await until('the webhook knows', async () =>
      standard.posted.some(({ type, data }) => type === 'alert.deleted' && data!.id === alert.id),
    )
    standard.stop()
    slack.stop()
  })

  it('is all that Slack takes, with digests', async () => {
    const workspace = `slack ${crypto.randomUUID()}`
    const own = await ownWorkspace({ sql: service.all, urls: service.urls }, workspace)
    const client = createClient({ url: service.urls[0]!, token: own.adminToken, attempts: 1 })
    const url = 'https://example.com/hooks'
    for (const [settings, problem] of [
      [{ url, format: 'slack', kinds: ['alert', 'feedback'] }, /kinds must be alert or digest, or absent/],
      [{ url, format: 'slack', filter: { source: 'App' } }, /filter must be absent with the format slack/],
      [{ url, format: 'teams' }, /format must be standard or slack/],
    ] as const)
      await assert.rejects(client.createWebhook(settings as never), (error) => {
        assert.ok(error instanceof RequestError && error.status === 400)
        assert.match(error.message, problem)
        return true
      })
    const slack = await receive()
    const where = ['create', '--workspace', workspace, '--url', slack.url]
    const created = await outputOf(
      service,
      'cli/webhook-command.ts',
      ...where,
      '--format',
      'slack',
      '--kinds',
      'digest',
    )
    const [, id] = /webhook (\S+)/.exec(created)!
    await outputOf(service, 'cli/webhook-command.ts', 'test', id!)
    assert.deepEqual(slack.posted, [{ text: 'A test of Feedback Insights' }])
    slack.stop()
  })
})
