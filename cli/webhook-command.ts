import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { checkBody } from '../contract/check-body.ts'
import { FIELD_PREFIX } from '../contract/feedback-filters.ts'
import type { JsonObject } from '../contract/json.ts'
import { webhookSecret } from '../contract/token-format.ts'
import { isPosition, NO_POSITION, scopeOf, webhookSettings, withUsualFilter } from '../contract/webhook-settings.ts'
import {
  createWebhook,
  deleteWebhook,
  findWebhook,
  listUndelivered,
  listWebhooks,
  rotateWebhookSecret,
  setWebhookState,
  type WebhookStatus,
} from '../db/webhooks.ts'
import { listFields } from '../db/sources.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { addWebhookTest, findWebhookTestOutcome } from '../queue/jobs/job-queues.ts'
import { findHostProblem } from '../queue/jobs/refused-host.ts'
import { readSettings } from '../runtime/settings.ts'
import { findWorkspace, NO_SUCH_WORKSPACE } from './option-values.ts'
import { CommandError, type CommandContext, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run webhook -- create --workspace NAME --url URL [--kinds KINDS] [--filter FILTERS]
                                    [--hold-until-tagged] [--from POSITION] [--format slack]
       npm run webhook -- list
       npm run webhook -- test ID
       npm run webhook -- pause ID
       npm run webhook -- resume ID
       npm run webhook -- replay ID --from POSITION
       npm run webhook -- rotate ID
       npm run webhook -- delete ID

A webhook receives the changes of a workspace, as in GET /changes, signed in the form of Standard Webhooks.
It begins with the next change, or with the changes after POSITION. 0 delivers all existing records first.
--kinds feedback,account delivers these kinds only. --filter 'source=Mail&satisfactionMax=0.4' delivers feedback that matches
these filters of GET /feedbacks. With --hold-until-tagged, feedback waits for its generated tags, for a minute at most.
--format slack posts alerts and digests alone, as texts for an incoming webhook of Slack.
create and rotate print the secret. For a day after rotate, deliveries are also signed with the former secret.
Addresses that are not public are refused, unless WEBHOOK_ALLOWED_HOSTS of the workers names the host.
list also shows records that the receiver has not confirmed and that the webhook has passed. resume sends them again.`

const NO_SUCH_WEBHOOK = 'There is no webhook with this id. See: npm run webhook -- list'
const TEST_WITHIN_MS = 30_000
const LOOK_EVERY_MS = 100

const positionOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  if (!/^\d+$/.test(text) || !isPosition(Number(text))) throw new CommandError(`--from must be ${NO_POSITION}.`)
  return Number(text)
}

/** Makes an action that needs the id of a webhook. */
const requireId =
  (act: (context: CommandContext, id: string) => Promise<void>) =>
  async (context: CommandContext, id: string | undefined): Promise<void> => {
    if (id === undefined) throw new CommandError(USAGE)
    await act(context, id)
  }

const setState = async (sql: Sql, id: string, change: Parameters<typeof setWebhookState>[2]): Promise<void> => {
  if (!(await setWebhookState(sql, id, change))) throw new CommandError(NO_SUCH_WEBHOOK)
}

const statusLine = (webhook: WebhookStatus): string => {
  const { id, workspace, url, state, position, isBehind, delivered, undelivered, fault } = webhook
  const { kinds, filter, holdUntilTagged, format } = webhook
  return [
    id,
    workspace,
    state,
    isBehind ? `behind at ${position}` : `up to date at ${position}`,
    `${delivered} delivered`,
    ...(undelivered === 0 ? [] : [`${undelivered} undelivered`]),
    ...(fault === null ? [] : [`fails: ${fault}`]),
    ...(kinds === null ? [] : [kinds.join(',')]),
    ...(filter === null ? [] : [JSON.stringify(filter)]),
    ...(holdUntilTagged ? ['holds until tagged'] : []),
    ...(format === 'slack' ? ['slack'] : []),
    url,
  ].join('  ')
}

/** The undelivered records that `list` shows for a webhook. */
const UNDELIVERED_SHOWN = 20

const printUndelivered = async (sql: Sql, webhook: WebhookStatus): Promise<void> => {
  if (webhook.undelivered === 0) return
  for (const { kind, id, failingSince, isGivenUp, fault } of await listUndelivered(sql, webhook, UNDELIVERED_SHOWN)) {
    const next = isGivenUp ? 'not tried again' : 'tried again'
    print(`  undelivered: ${kind} ${id}  ${fault} since ${failingSince.toISOString()}, ${next}`)
  }
  const left = webhook.undelivered - UNDELIVERED_SHOWN
  if (left > 0) print(`  … and ${left} more`)
}

/** Refuses a host that the workers would refuse. */
const refuseHost = async ({ openRedis }: CommandContext, url: string): Promise<void> => {
  const own = readSettings(['WEBHOOK_ALLOWED_HOSTS'], process.env).WEBHOOK_ALLOWED_HOSTS ?? []
  const problem = await findHostProblem(await openRedis(), url, own)
  if (problem !== undefined) throw new CommandError(problem)
}

const test = async ({ sql, openQueues }: CommandContext, id: string): Promise<void> => {
  const webhook = await findWebhook(sql, { id })
  if (webhook === undefined) throw new CommandError(NO_SUCH_WEBHOOK)
  const { queues } = await openQueues()
  const job = await addWebhookTest(queues, { workspaceId: webhook.workspaceId, webhookId: id })
  const until = performance.now() + TEST_WITHIN_MS
  for (;;) {
    const outcome = await findWebhookTestOutcome(queues, job)
    if (outcome === 'confirmed') return print('The receiver has confirmed the test.')
    if (outcome !== undefined) throw new CommandError(`The receiver has not confirmed the test: ${outcome}.`)
    if (performance.now() > until)
      throw new CommandError(
        `No worker has finished the test within ${TEST_WITHIN_MS / 1_000} s. Check that a worker runs: npm run doctor`,
      )
    await wait(LOOK_EVERY_MS)
  }
}

/** The filters of a query such as `source=Mail&tag=a&tag=b&field.plan=trial`. */
const filterOf = (text: string | undefined): JsonObject | undefined => {
  if (text === undefined) return undefined
  const query = new URLSearchParams(text)
  const names = [...new Set(query.keys())]
  const fields = names.filter((name) => name.startsWith(FIELD_PREFIX))
  const others = names.filter((name) => !fields.includes(name))
  return {
    ...Object.fromEntries(others.map((name) => [name, name === 'tag' ? query.getAll(name) : query.get(name)])),
    ...(fields.length > 0 && {
      fields: Object.fromEntries(fields.map((name) => [name.slice(FIELD_PREFIX.length), query.get(name)])),
    }),
  }
}

/** The body of POST /webhooks for these options. */
const bodyOf = ({ values, hasFlag }: CommandContext): JsonObject => {
  const [kinds, filter, from] = [values['kinds']?.split(','), filterOf(values['filter']), positionOf(values['from'])]
  const body = {
    url: values['url'] ?? '',
    ...(kinds && { kinds }),
    ...(filter && { filter }),
    ...(from !== undefined && { from }),
    ...(values['format'] !== undefined && { format: values['format'] }),
  }
  return withUsualFilter({ ...body, holdUntilTagged: hasFlag('hold-until-tagged') })
}

/** Refuses a filter by a field that no source declares: it would match nothing. */
const refuseUndeclared = async (sql: Sql, workspaceId: string, fields: object = {}): Promise<void> => {
  const declared = new Set((await listFields(sql, workspaceId)).map(({ name }) => name))
  const undeclared = Object.keys(fields).filter((name) => !declared.has(name))
  if (undeclared.length > 0)
    throw new CommandError(
      `--filter names fields that no source declares: ${undeclared.join(', ')}. See: npm run source`,
    )
}

const create = async (context: CommandContext): Promise<void> => {
  const { sql, values, readHashKey } = context
  const { workspace } = values
  if (workspace === undefined) throw new CommandError('--workspace NAME is required.')
  const body = bodyOf(context)
  const checked = checkBody(webhookSettings, body)
  if ('problems' in checked) throw new CommandError(checked.problems.map(({ message }) => `--${message}.`).join('\n'))
  const { id: workspaceId } = await findWorkspace(sql, workspace)
  await refuseUndeclared(sql, workspaceId, checked.valid.filter?.fields)
  const hashKey = await readHashKey()
  const { href: url } = new URL(checked.valid.url)
  await refuseHost(context, url)
  const { from } = checked.valid
  const id = await createWebhook(sql, { workspaceId, url, from: from ?? undefined, ...scopeOf(checked.valid, body) })
  if (id === undefined) throw new CommandError(NO_SUCH_WORKSPACE)
  print(`webhook ${id}`)
  print(webhookSecret(hashKey, id, 1))
}

const rotate = async ({ sql, readHashKey }: CommandContext, id: string): Promise<void> => {
  const hashKey = await readHashKey()
  const version = await rotateWebhookSecret(sql, id)
  if (version === undefined) throw new CommandError(NO_SUCH_WEBHOOK)
  print('This is the new secret. For a day, deliveries are also signed with the former secret.')
  print(webhookSecret(hashKey, id, version))
}

const replay = async ({ sql, values }: CommandContext, id: string): Promise<void> => {
  const from = positionOf(values['from'])
  if (from === undefined) throw new CommandError('--from POSITION is required.')
  await setState(sql, id, { state: 'active', from })
  print('active; all changes after the position are delivered again')
}

await runCommand({
  usage: USAGE,
  options: ['workspace', 'url', 'from', 'kinds', 'filter', 'format'],
  flags: ['hold-until-tagged'],
  run: {
    create,
    list: async ({ sql }) => {
      for (const webhook of await listWebhooks(sql)) {
        print(statusLine(webhook))
        await printUndelivered(sql, webhook)
      }
    },
    test: requireId(test),
    pause: requireId(async ({ sql }, id) => {
      await setState(sql, id, { state: 'paused' })
      print('paused; the webhook keeps its position')
    }),
    resume: requireId(async ({ sql }, id) => {
      await setState(sql, id, { state: 'active' })
      print('active; the webhook continues at its position')
    }),
    replay: requireId(replay),
    rotate: requireId(rotate),
    delete: requireId(async ({ sql }, id) => {
      if (!(await deleteWebhook(sql, { id }))) throw new CommandError(NO_SUCH_WEBHOOK)
      print('deleted')
    }),
  },
})
