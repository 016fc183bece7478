import assert from 'node:assert/strict'
import { MAX_BODY_BYTES } from '../../contract/limits.ts'
import { DEAREST, type Dearest, type Submitted } from './dearest-bodies.ts'
import { PATHS } from '../end-to-end/interface-table.ts'

/** A request below the base path; the body is JSON. */
export type HeavyRequest = { path: string; body: string }
/** The requests of one attacker, by their place in the order of sending. */
export type Attack = (place: number) => HeavyRequest

/** The most members of a conversation, or of an object. */
const CONVERSATION_MEMBERS = 10_000
const MEMBERS = 1_000
const MEMBER_CHARACTERS = 400
/** Room for names, punctuation and the light members. */
const SPARE_BYTES = 2_048
const FILLING_CHARACTERS = Math.floor((MAX_BODY_BYTES - SPARE_BYTES) / MEMBERS) - 24
const CREATED_AT = '2026-01-31T09:30:00Z'

/** Text that a database cannot compress, uniform in all its parts. */
const NOISE = (() => {
  let state = 1
  const letter = (): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 27).toString(32)
  }
  return Array.from({ length: 64 * 1024 }, letter).join('')
})()
const noise = (place: number, characters: number): string => {
  const from = (place * 7_919) % (NOISE.length - characters)
  return NOISE.slice(from, from + characters)
}

const members = (count: number, memberOf: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => memberOf(at)).join(',')
const conversation = (id: string, { contacts = '', messages = '' }): HeavyRequest => ({
  path: '/conversations',
  body: `{"id":"${id}","source":"chat","createdAt":"${CREATED_AT}","contacts":[${contacts}],"messages":[${messages}]}`,
})

/** Valid requests of an ordinary token. All requests differ, except for the email. */
export const ATTACKS = {
  'feedback of one email': () => ({
    path: '/feedbacks',
    body: '{"description":"Heavy","tags":[],"contact":{"email":"shared@example.com"}}',
  }),
  'contacts of the largest size of a body': (place) => ({
    path: '/contacts/identify',
    body: `{"id":"large ${place}","source":"crm","properties":{${members(MEMBERS, (at) => `"k${place}.${at}":"${noise(place + at, FILLING_CHARACTERS)}"`)}}}`,
  }),
  'conversations of ten thousand messages': (place) =>
    conversation(`most messages ${place}`, {
      messages: members(
        CONVERSATION_MEMBERS,
        (at) =>
          `{"id":"${place}.${at}","incoming":true,"contactId":"c${at}","createdAt":"${CREATED_AT}","content":"${noise(at, MEMBER_CHARACTERS - 80)}"}`,
      ),
    }),
  'conversations of ten thousand contacts': (place) =>
    conversation(`most contacts ${place}`, {
      contacts: members(
        CONVERSATION_MEMBERS,
        (at) =>
          `{"id":"c${place}.${at}","properties":{"$email":"c${at}@example.com","k":"${noise(at, MEMBER_CHARACTERS)}"}}`,
      ),
    }),
} as const satisfies Record<string, Attack>

/**
 * Sends this many of the dearest submissions at a time, since some are dear because of earlier
 * ones.
 */
const DEAREST_SIZE = 50

/** The attack of this name, or of this title among the dearest bodies. */
export const attackOf = (name: string): Attack => {
  const dearest = DEAREST.find(({ title }) => title === name)
  if (dearest !== undefined) return attackWith(dearest)
  assert.ok(name in ATTACKS, `There is no attack ${name}`)
  return ATTACKS[name as keyof typeof ATTACKS]
}

const attackWith = ({ submissions }: Dearest): Attack => {
  let left: Submitted[] = []
  return (place) => {
    if (left.length === 0) left = submissions(DEAREST_SIZE, `n${place}`).toReversed()
    const { operation, body } = left.pop()!
    return { path: PATHS[operation], body: JSON.stringify(body) }
  }
}
