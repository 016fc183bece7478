import assert from 'node:assert/strict'
import { MAX_BODY_BYTES } from '../../contract/limits.ts'
import { DEAREST, type Dearest, type Submitted } from './dearest-bodies.ts'

/** A request below the base path; the body is JSON. */
export type HeavyRequest = { path: string; body: string }
/** The requests of one attacker, by their place in the order of sending: no two bring the same, where it says "new". */
export type Attack = (place: number) => HeavyRequest

// What the bounds of the ingress allow: members of an object, JSON of one member of properties, tags and their characters.
const MEMBERS = 1_000
const MEMBER_BYTES = 16 * 1024
const TAGS = 100
const TAG_CHARACTERS = 200
/** For names, punctuation and the members that are not what the body is heavy with. */
const SPARE_BYTES = 2_048
const SOMETIME = '2026-01-31T09:30:00Z'
/** Of so many requests one claims what the others have named, so that what has to be linked anew grows on and on. */
const CLAIMED_EVERY = 10

/** Text that a database cannot make smaller; any part of it looks like any other. */
const NOISE = (() => {
  let state = 1
  const letter = (): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 27).toString(32)
  }
  return Array.from({ length: 2 * MEMBER_BYTES }, letter).join('')
})()
const noise = (place: number, characters: number): string => {
  const from = (place * 7_919) % (NOISE.length - characters)
  return NOISE.slice(from, from + characters)
}

const members = (count: number, memberOf: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => memberOf(at)).join(',')
/** New names whatever the place; so many that short values would not come to the bytes of a body have longer ones. */
const newKeys = (place: number, valueCharacters: number): string =>
  members(MEMBERS, (at) => `"k${place}.${at}":"${noise(place + at, valueCharacters)}"`)

const identify = (id: string, properties: string, more = ''): HeavyRequest => ({
  path: '/contacts/identify',
  body: `{"id":"${id}","source":"crm",${more}"properties":{${properties}}}`,
})
const feedback = (more: string): HeavyRequest => ({
  path: '/feedbacks',
  body: `{"description":"Heavy","tags":[],${more}}`,
})
/** Names them anew in each, so that nothing is known of one but what is in it. */
const newMessages = (count: number, place: number): string =>
  members(
    count,
    (at) =>
      `{"id":"${place}.${at}","incoming":true,"contactId":"c${at}","createdAt":"${SOMETIME}","content":"${noise(at, MEMBER_CHARACTERS - 80)}"}`,
  )
const conversation = (id: string, contacts: string, messages: string): HeavyRequest => ({
  path: '/conversations',
  body: `{"id":"${id}","source":"chat","createdAt":"${SOMETIME}","contacts":[${contacts}],"messages":[${messages}]}`,
})

const FILLING_CHARACTERS = Math.floor((MAX_BODY_BYTES - SPARE_BYTES) / MEMBERS) - 24
const MOST_CONVERSATION_MEMBERS = 10_000
/**
 * A tenth of what a conversation may have: to read one of 10,000 takes an API process, which is one thread, half a second, in which it
 * accepts nobody's submissions. That is no matter of how they are stored.
 */
const CONVERSATION_MEMBERS = 1_000
const MEMBER_CHARACTERS = 400

/** What somebody with an ordinary token may try; all of it is accepted. */
export const ATTACKS = {
  /** As many keys as there may be, with as little behind them as there can be. */
  'contacts with as many keys as there may be': (place) =>
    identify(
      `many ${place}`,
      members(MEMBERS, (at) => `"${place}.${at}":1`),
    ),
  'one contact with as many keys, new ones each time': (place) =>
    identify(
      'one',
      members(MEMBERS, (at) => `"${place}.${at}":1`),
    ),
  'as many and as long tags as there may be, new ones each time': (place) => ({
    path: '/feedbacks',
    body: `{"description":"Heavy","tags":[${members(TAGS, (at) => `"${`${place} ${at} `.padEnd(TAG_CHARACTERS, 'tag ')}"`)}]}`,
  }),
  'one contact with the longest values, under new keys each time': (place) =>
    identify(
      'one',
      members(
        Math.floor((MAX_BODY_BYTES - SPARE_BYTES) / MEMBER_BYTES),
        (at) => `"k${place}.${at}":"${noise(place + at, MEMBER_BYTES - 30)}"`,
      ),
    ),
  'feedback of one email': () => feedback('"contact":{"email":"shared@example.com"}'),
  'contacts as large as a body may be': (place) => identify(`large ${place}`, newKeys(place, FILLING_CHARACTERS)),
  'one contact as large as a body may be, with new keys each time': (place) =>
    identify('one', newKeys(place, FILLING_CHARACTERS)),
  /** Each claim makes all the feedback of that email somebody else's. */
  'an email with much feedback that two contacts claim in turn': (place) =>
    place % CLAIMED_EVERY > 0
      ? feedback('"contact":{"email":"disputed@example.com"}')
      : identify(`claimant ${(place / CLAIMED_EVERY) % 2}`, '"$email":"disputed@example.com"'),
  'a domain with many feedback that two accounts claim in turn': (place) =>
    place % CLAIMED_EVERY > 0
      ? feedback(
          `"contact":{"email":"p${place}@example.com"},"account":{"name":"A${place}","domain":"disputed.example"}`,
        )
      : {
          path: '/accounts/identify',
          body: `{"id":"claimant ${(place / CLAIMED_EVERY) % 2}","properties":{"$domain":"disputed.example","$name":"B${place}"}}`,
        },
  /** Each contact is waited for by two feedback, and claims an email that all have. */
  'contacts that feedback waits for, all with one email': (place) =>
    place % 3 === 2
      ? identify(`late ${Math.floor(place / 3)}`, '"$email":"everybody@example.com","$name":"Somebody"')
      : feedback(`"isExternalContactId":true,"contactId":"late ${Math.floor(place / 3)}"`),
  'one feedback that is replaced by one of somebody else': (place) =>
    feedback(`"source":"s","sourceId":"one","contact":{"email":"p${place}@example.com","name":"P${place}"}`),
  'one external id in ever more sources': (place) => ({
    path: '/contacts/identify',
    body: `{"id":"one","source":"s${place}","properties":{"$email":"one@example.com","k${place}":1}}`,
  }),
  'dotted keys as deep as they may be': (place) =>
    identify(
      `deep ${place}`,
      members(MEMBERS, (at) => `"${`${place}_${at}.`.padEnd(62, 'a.')}a":1`),
      '"shouldUnflattenProperties":true,',
    ),
  'conversations of a thousand messages': (place) =>
    conversation(
      `messages ${place}`,
      '',
      members(
        CONVERSATION_MEMBERS,
        (at) =>
          `{"id":"${at}","incoming":true,"contactId":"c${at}","createdAt":"${SOMETIME}","content":"${noise(at, MEMBER_CHARACTERS)}"}`,
      ),
    ),
  'conversations of ten thousand messages': (place) =>
    conversation(`most messages ${place}`, '', newMessages(MOST_CONVERSATION_MEMBERS, place)),
  'conversations of ten thousand contacts': (place) =>
    conversation(
      `most contacts ${place}`,
      members(
        MOST_CONVERSATION_MEMBERS,
        (at) =>
          `{"id":"c${place}.${at}","properties":{"$email":"c${at}@example.com","k":"${noise(at, MEMBER_CHARACTERS)}"}}`,
      ),
      '',
    ),
  'conversations of a thousand contacts': (place) =>
    conversation(
      `contacts ${place}`,
      members(
        CONVERSATION_MEMBERS,
        (at) =>
          `{"id":"c${place}.${at}","properties":{"$email":"c${at}@example.com","k":"${noise(at, MEMBER_CHARACTERS)}"}}`,
      ),
      '',
    ),
  'one conversation of a thousand messages, over and over': (place) =>
    conversation(
      'over and over',
      '{"id":"c","properties":{"$email":"c@example.com"}}',
      members(
        CONVERSATION_MEMBERS,
        (at) =>
          `{"id":"${at}","incoming":true,"contactId":"c","createdAt":"${SOMETIME}","content":"${place} ${noise(at, MEMBER_CHARACTERS)}"}`,
      ),
    ),
} as const satisfies Record<string, Attack>

/** So many at a time of what is dearest: some of it is dear by what came before it. */
const DEAREST_SIZE = 50
const PATHS: Readonly<Record<Submitted['operation'], string>> = {
  create_feedback: '/feedbacks',
  identify_contact: '/contacts/identify',
  identify_account: '/accounts/identify',
  submit_conversation: '/conversations',
}

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
