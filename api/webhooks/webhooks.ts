import { checkBody, replaceUnstorable } from '../../contract/check-body.ts'
import { asUuid, type HashKey } from '../../contract/identity/keys.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { webhookSecret } from '../../contract/token-format.ts'
import { scopeOf, webhookSettings, withUsualFilter } from '../../contract/webhook-settings.ts'
import type { NewWebhook, WebhookStatus } from '../../db/webhooks.ts'
import { callerOf } from '../authenticate.ts'
import type { Arrival } from '../http/arrival.ts'
import { jsonAnswer } from '../http/json-answer.ts'
import { parseBody } from '../http/read-body.ts'
import { isRefusal, type Refusal, refusalResponse } from '../http/refusal.ts'
import { isStrict } from '../http/request-headers.ts'
import { findDeclared } from '../reads/declared-fields.ts'
import { readQuery } from '../reads/parameters.ts'
import { type ReadDependencies, refusalOfFault } from '../reads/reads.ts'
import { type IntakeDependencies, isRefusedIntake } from '../submit/intake.ts'
import { withBody } from '../submit/submit.ts'

const MOST_WEBHOOKS = 20

/** Each look-up rejects if the store does not answer in time. */
export type WebhookDependencies = {
  intake: IntakeDependencies
  reads: ReadDependencies
  webhooks: {
    list: (workspaceId: string) => Promise<WebhookStatus[]>
    /** Returns undefined if the workspace does not exist. */
    create: (webhook: NewWebhook) => Promise<string | undefined>
    remove: (named: { workspaceId: string; id: string }) => Promise<boolean>
    findHostProblem: (url: string) => Promise<string | undefined>
  }
}

type WebhookRequest = { request: Request; workspaceId: string; id: string }
type WebhookAnswer = { status: 200 | 201; answer: object } | Refusal
type HandleWebhooks = (dependencies: WebhookDependencies, asked: WebhookRequest) => Promise<WebhookAnswer>

/** Answers a request about webhooks if its token is an admin token. */
export const answerWebhooks = async (
  dependencies: WebhookDependencies,
  arrival: Arrival,
  { id = '', handle }: { id?: string | undefined; handle: HandleWebhooks },
): Promise<Response> => {
  const { intake, reads } = dependencies
  const caller = await callerOf(intake.authenticate, arrival, 'admin')
  if (isRefusal(caller)) return refusalResponse(caller)
  const { request, span } = arrival
  const { workspaceId } = caller
  const query = readQuery(request, {})
  const answered = isRefusal(query)
    ? query
    : await handle(dependencies, { request, workspaceId, id }).catch((error: unknown): Refusal =>
        refusalOfFault({ workspaceId, request, dependencies: reads }, error),
      )
  if (!isRefusal(answered))
    return jsonAnswer(reads, JSON.stringify(answered.answer), { workspaceId, status: answered.status })
  span?.set({ 'feedback_insights.refused': answered.refused })
  return refusalResponse(answered)
}

/** GET /webhooks */
const listThem: HandleWebhooks = async ({ webhooks }, { workspaceId }) => {
  const found = await webhooks.list(workspaceId)
  return { status: 200, answer: { webhooks: found.map(shown) } }
}

/** GET /webhooks/{id} */
const getOne: HandleWebhooks = async ({ webhooks }, { workspaceId, id }) => {
  const webhook = (await webhooks.list(workspaceId)).find((each) => each.id === asUuid(id))
  return webhook === undefined ? NO_SUCH_WEBHOOK : { status: 200, answer: { webhook: shown(webhook) } }
}

/** DELETE /webhooks/{id} */
const deleteOne: HandleWebhooks = async ({ webhooks }, { workspaceId, id }) => {
  const own = asUuid(id)
  const isDeleted = own !== undefined && (await webhooks.remove({ workspaceId, id: own }))
  return isDeleted ? { status: 200, answer: { deleted: true } } : NO_SUCH_WEBHOOK
}

/** POST /webhooks. Only this answer has the secret. */
const createOne: HandleWebhooks = async ({ intake, reads, webhooks }, { request, workspaceId }) => {
  const received = { request, workspaceId, maxBytes: intake.maxBytes.body }
  const valid = await withBody(intake, received, async (bytes) => validate(bytes, request))
  if (isRefusedIntake(valid)) return valid.refusal
  if (isRefusal(valid)) return valid
  const { valid: settings, body } = valid
  const declared = await findDeclared({ workspaceId, request, dependencies: reads }, { filters: settings.filter ?? {} })
  if (isRefusal(declared)) return declared
  const problem = await webhooks.findHostProblem(settings.url)
  if (problem !== undefined) return invalid('url', problem)
  if ((await webhooks.list(workspaceId)).length >= MOST_WEBHOOKS) return TOO_MANY
  const url = new URL(settings.url).href
  const id = await webhooks.create({ workspaceId, url, from: settings.from ?? undefined, ...scopeOf(settings, body) })
  // The workspace was deleted meanwhile.
  if (id === undefined) return { refused: 'unauthenticated' }
  const webhook = (await webhooks.list(workspaceId)).find((each) => each.id === id)
  if (webhook === undefined) return NO_SUCH_WEBHOOK
  return { status: 201, answer: { webhook: shown(webhook), secret: secretOf(intake.hashKey, id) } }
}

const secretOf = (hashKey: HashKey, id: string): string => webhookSecret(hashKey, id, 1)

const validate = (bytes: Uint8Array, { headers }: Request) => {
  const parsed = parseBody(bytes)
  if (isRefusal(parsed)) return parsed
  const given = replaceUnstorable(parsed.value)
  const body: JsonObject = isJsonObject(given) ? withUsualFilter(given) : {}
  const checked = checkBody(webhookSettings, isJsonObject(given) ? body : given, { isStrict: isStrict(headers) })
  return 'problems' in checked ? ({ refused: 'invalid', ...checked } as const) : { ...checked, body }
}

const invalid = (path: string, message: string): Refusal => ({ refused: 'invalid', problems: [{ path, message }] })
const TOO_MANY = invalid('', `A workspace has at most ${MOST_WEBHOOKS} webhooks: delete one first`)
const NO_SUCH_WEBHOOK: Refusal = { refused: 'no-such-record' }

/** The routes, by their paths below the base path. */
export const WEBHOOK_ROUTES = [
  { method: 'GET', path: '/webhooks', handle: listThem },
  { method: 'POST', path: '/webhooks', handle: createOne },
  { method: 'GET', path: '/webhooks/:id', handle: getOne },
  { method: 'DELETE', path: '/webhooks/:id', handle: deleteOne },
] as const

const shown = ({ workspaceId: _, workspace: __, ...webhook }: WebhookStatus): object => webhook
