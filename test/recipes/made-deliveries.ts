import { objectOf } from '../../docs/recipes/values.ts'
import documented from './documented-payloads.json' with { type: 'json' }
import { hexSignature, USER_SECRET } from './vendor-signs.ts'

export type Vendor = 'segment' | 'zendesk' | 'intercom' | 'typeform' | 'app-store'
export type Delivery = { readonly vendor: Vendor; readonly payload: unknown }
/** Random numbers from 0 to below 1. */
export type Random = () => number

type Value = Readonly<Record<string, unknown>>
type Change = (path: string, value: unknown) => unknown

const NOTHING = [undefined, null, '', ' ', false, [], {}]
const MISSING_SHARE = 0.2

/**
 * The members that no delivery loses. Without them, a recipe could refuse or ignore the delivery, or
 * the stored rows could depend on the order.
 */
const KEPT: Readonly<Record<Vendor, RegExp>> = {
  segment: /^(?:type|event|messageId|userId|groupId|timestamp|originalTimestamp|properties|properties\.review_id)$/,
  zendesk: /^(?:type|id|detail|detail\.(?:id|created_at)|ticket|ticket\.(?:id|created_at)|requester|requester\.id)$/,
  intercom: /^(?:id|topic|created_at|data|data\.item|data\.item\.(?:id|updated_at|conversation_rating\b.*))$/,
  typeform: /^(?:event_id|event_type|form_response)$/,
  'app-store': /^(?:id|attributes)$/,
}

/** The members with the words of people. */
const WORDS: Readonly<Record<Vendor, RegExp>> = {
  segment: /^properties\.review_body$/,
  zendesk: /\.description$/,
  intercom: /\.(?:body|remark)$/,
  typeform: /^form_response\.answers\.\d+\.text$/,
  'app-store': /^attributes\.(?:body|title)$/,
}

const mapped = (value: unknown, change: Change, path = ''): unknown => {
  const changed = path === '' ? value : change(path, value)
  const at = (key: string | number): string => (path === '' ? String(key) : `${path}.${key}`)
  if (Array.isArray(changed)) return changed.map((item, index) => mapped(item, change, at(index)))
  if (typeof changed !== 'object' || changed === null) return changed
  return Object.fromEntries(Object.entries(changed).map(([key, member]) => [key, mapped(member, change, at(key))]))
}

/** The same delivery with random parts missing or replaced by an empty value. */
const withoutParts = ({ vendor, payload }: Delivery, random: Random): Delivery => ({
  vendor,
  payload: mapped(payload, (path, value) =>
    KEPT[vendor].test(path) || random() >= MISSING_SHARE ? value : NOTHING[Math.floor(random() * NOTHING.length)],
  ),
})

/** The words of people in a delivery. */
export const wordsIn = ({ vendor, payload }: Delivery): string[] => {
  const words: string[] = []
  mapped(payload, (path, value) => {
    if (WORDS[vendor].test(path) && typeof value === 'string' && value.trim() !== '') words.push(value)
    return value
  })
  return words
}

/**
 * Gives each round people and records of its own, with the number of the round in their ids and
 * emails.
 */
const ofRound = (payload: unknown, round: number): unknown =>
  mapped(payload, (path, value) => {
    const isId = /(?:^|[._])(?:id|messageId|userId|groupId|token|reviewerNickname)$/.test(path)
    if (isId && typeof value === 'string') return idOfRound(value, round)
    if (path.endsWith('email') && typeof value === 'string') return `${round}.${value}`
    return value
  })

const idOfRound = (id: string, round: number): string => `${id}-${round}`

const segment = (): unknown[] => {
  const { SEGMENT_IDENTIFY: identify, RUDDERSTACK_IDENTIFY: rudder } = documented
  const traits = { ...identify.traits, name: 'P. Gibbons', plan: 'free', title: 'Clerk', createdAt: 1389747592 }
  const company = { id: 'company-A', name: 'Old name', plan: 'free' }
  // The service has one time for all values of a person. So with missing parts, the order of three
  // identifies of one person matters, and no person here has three.
  const employee = { ...rudder, userId: 'employee' }
  return [
    identify,
    { ...identify, messageId: 'older', timestamp: '2014-02-23 22:28:55', traits },
    { ...documented.SEGMENT_GROUP, messageId: 'of-its-own' },
    documented.SEGMENT_TRACK,
    rudder,
    { ...employee, messageId: 'with-company', originalTimestamp: '2019-04-22T08:06:20Z', traits: { company } },
    {
      ...employee,
      messageId: 'with-company-later',
      originalTimestamp: '2019-06-01T00:00:00Z',
      traits: { company: { ...company, name: 'New name', plan: 'team', website: 'https://www.a.example' } },
    },
    ...['2019-01-01T00:00:00Z', '2019-02-01T00:00:00Z'].map((at) => ({
      ...documented.RUDDERSTACK_GROUP,
      messageId: at,
      timestamp: at,
      groupId: 'nameless',
      traits: { plan: at },
    })),
    { ...rudder, messageId: 'no-user', userId: null, traits: { company: { ...company, id: 'company-B' } } },
    documented.RUDDERSTACK_GROUP,
    documented.RUDDERSTACK_TRACK,
  ]
}

const zendesk = (): unknown[] => {
  const { detail } = documented.ZENDESK_EVENT
  const ticket = {
    id: '5159',
    subject: 'A question',
    description: 'Where is the\nexport?',
    url: 'x',
    created_at: '2025-01-08T10:12Z',
  }
  const requester = { id: detail.requester_id, name: 'Ada Byron', email: 'ada@acme.example' }
  return [
    documented.ZENDESK_EVENT,
    { ticket, requester, organization: 'Acme' },
    {
      ticket: { ...ticket, id: '5160', description: 'The older ticket', created_at: '2024-01-08T10:12Z' },
      requester: { ...requester, name: 'A. Byron' },
      organization: '',
    },
    {
      ticket: { ...ticket, id: '5161', description: 'By email', created_at: '2024-01-08T10:12Z' },
      requester: { id: '', name: 'Bo', email: 'bo@acme.example' },
    },
  ]
}

const intercom = (): unknown[] => {
  const { INTERCOM_CREATED: created, INTERCOM_REPLIED: replied } = documented
  const { item } = replied.data
  const later = (id: string, seconds: number, more: Value) => ({
    ...replied,
    id,
    data: { ...replied.data, item: { ...item, id: '77', updated_at: item.updated_at + seconds, ...more } },
    created_at: replied.created_at + seconds,
  })
  const [part] = item.conversation_parts.conversation_parts
  const parts = { conversation_parts: [{ ...part, id: '4414', body: 'And one more thing', author: { type: 'user' } }] }
  return [
    created,
    replied,
    later('begun', 0, { conversation_rating: null, conversation_parts: undefined }),
    later('answered', 60, { conversation_rating: { rating: null } }),
    later('rated', 120, { title: 'A chat' }),
    later('more', 180, { title: 'A chat', conversation_parts: parts }),
  ]
}

const typeform = (round: number): unknown[] => {
  const { TYPEFORM: answered } = documented
  const { hidden, ...response } = answered.form_response
  const respond = (id: string, more: Value) => ({
    ...answered,
    event_id: id,
    form_response: { ...response, token: id, ...more },
  })
  const signature = hexSignature(USER_SECRET, idOfRound(hidden.user_id, round))
  return [
    answered,
    respond('signed', { hidden: { ...hidden, user_signature: signature } }),
    respond('anonymous', { hidden: null, answers: answered.form_response.answers.slice(2) }),
  ]
}

const PAYLOADS: Readonly<Record<Vendor, (round: number) => unknown[]>> = {
  segment,
  zendesk,
  intercom,
  typeform,
  'app-store': () => [documented.APP_STORE_REVIEW, documented.ANOTHER_APP_STORE_REVIEW],
}

/**
 * Whether a delivery is about the documented conversation. Its two deliveries have the same time,
 * so neither replaces the other. With missing parts, the stored rows would depend on their order.
 */
const isOfDocumentedConversation = (payload: unknown): boolean =>
  objectOf(objectOf(objectOf(payload)['data'])['item'])['id'] === documented.INTERCOM_CREATED.data.item.id

/**
 * The documented deliveries of all vendors and others like them, with random parts missing except
 * from the documented conversation.
 */
export const makeDeliveries = (round: number, random: Random): Delivery[] =>
  (Object.keys(PAYLOADS) as Vendor[]).flatMap((vendor) =>
    PAYLOADS[vendor](round).map((payload) => {
      const delivery = { vendor, payload: ofRound(payload, round) }
      return isOfDocumentedConversation(payload) ? delivery : withoutParts(delivery, random)
    }),
  )
