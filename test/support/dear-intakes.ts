import { Buffer } from 'node:buffer'
import { MAX_BODY_BYTES, MAX_CONVERSATION_BODY_BYTES } from '../../contract/limits.ts'
import type { Operation } from '../../contract/submission.ts'

/**
 * `text` returns a body of at most `bytes` bytes, if its fixed parts fit. It is text, since a parsed
 * object would have no escapes and no repeated keys.
 */
export type DearIntake = { title: string; operation: Operation; text: (bytes: number) => string }

type Part = (index: number) => string
/** The text before and after the parts, and the largest number of parts. */
type Frame = { head: string; tail: string; most?: number | undefined }
type Place = Frame & { operation: Operation }

const filled =
  ({ head, tail, most = Infinity }: Frame, part: Part) =>
  (bytes: number): string => {
    const parts: string[] = []
    let left = bytes - head.length - tail.length
    for (let index = 0; index < most; index++) {
      const next = part(index)
      left -= Buffer.byteLength(next) + 1
      if (left < 0) break
      parts.push(next)
    }
    return head + parts.join() + tail
  }

const MEMBERS = 1_000
const ITEMS = 10_000
const DATE_TIME = '"2026-01-01T00:00:00Z"'
const times = (count: number, part: Part): string => Array.from({ length: count }, (_, index) => part(index)).join()
const conversation = (more: string): string => `{"id":"x","source":"s","createdAt":${DATE_TIME},${more}`
const message = (more: string): string =>
  `{"id":"m","incoming":true,"content":"","createdAt":${DATE_TIME}${more && `,${more}`}}`

/** Objects in bodies that get further members. */
const PLACES: Readonly<Record<string, Place>> = {
  sourceData: {
    operation: 'create_feedback',
    head: '{"description":"x","sourceData":{',
    tail: '}}',
    most: MEMBERS,
  },
  'sourceData to unflatten': {
    operation: 'create_feedback',
    head: '{"description":"x","shouldUnflattenSourceData":true,"sourceData":{',
    tail: '}}',
    most: MEMBERS,
  },
  'sourceData of too many members': {
    operation: 'create_feedback',
    head: '{"description":"x","sourceData":{',
    tail: '}}',
  },
  'a feedback': { operation: 'create_feedback', head: '{"description":"x",', tail: '}' },
  'properties of a contact': {
    operation: 'identify_contact',
    head: '{"id":"x","shouldUnflattenProperties":true,"properties":{',
    tail: '}}',
    most: MEMBERS,
  },
  'properties of an account': {
    operation: 'identify_account',
    head: '{"id":"x","properties":{"$name":"a","$domain":"b",',
    tail: '}}',
    most: MEMBERS - 2,
  },
  'a purge': { operation: 'purge_contact', head: '{"id":"x",', tail: '}' },
  'properties of a conversation': {
    operation: 'submit_conversation',
    head: conversation(
      '"contacts":[],"messages":[],"shouldUnflattenProperties":true,"propagatePropertiesToMessages":true,"properties":{',
    ),
    tail: '}}',
    most: MEMBERS,
  },
  'a conversation': { operation: 'submit_conversation', head: conversation('"contacts":[],"messages":[],'), tail: '}' },
}

/** Members for these objects. */
const CONTENTS: Readonly<Record<string, Part>> = {
  'short keys': (index) => `"k${index}":1`,
  'one key': () => '"k":1',
  'empty arrays': (index) => `"k${index}":[${times(20, () => '[]')}]`,
  'empty objects': (index) => `"k${index}":[${times(20, () => '{}')}]`,
  'small objects': (index) => `"k${index}":[${times(20, (at) => `{"${index * 20 + at}":0}`)}]`,
  'deep arrays': (index) => `"k${index}":${'['.repeat(55)}${']'.repeat(55)}`,
  'deep objects': (index) => `"k${index}":${'{"":'.repeat(55)}0${'}'.repeat(55)}`,
  'dotted keys': (index) => `"${'a.'.repeat(30)}${index}":1`,
  'dotted keys without a common start': (index) => `"${index}.${'a.'.repeat(30)}b":1`,
  'dotted keys of objects': (index) => `"${index % 30}.${'a.'.repeat(29)}b":{"${index}":1}`,
  escapes: (index) => `"k${index}":"${'\\u0041'.repeat(100)}"`,
  'strings of U+0000': (index) => `"k${index}":[${times(20, () => '"\\u0000\\ud800"')}]`,
  'keys of U+0000': (index) => `"\\u0000${index}":1`,
  'keys that become one': (index) =>
    `"${Array.from(index.toString(2).padStart(20, '0'), (bit) => (bit === '0' ? '\\u0000' : '\\ud800')).join('')}":1`,
  numbers: (index) => `"k${index}":[${times(20, () => '1e9')}]`,
  'integers of 16 digits': (index) => `"k${index}":[${times(20, () => '1234567890123456')}]`,
  'integers above 2^53': (index) => `"k${index}":[${times(20, () => '9007199254740993')}]`,
  'infinite numbers': (index) => `"k${index}":[${times(20, () => '1e999')}]`,
  'long members': (index) => `"k${index}":"${'é'.repeat(8_000)}"`,
  'long strings': (index) => `"k${index}":"${'東😀'.repeat(2_000)}"`,
  'quotes and backslashes': (index) => `"k${index}":"${'\\"\\\\'.repeat(300)}"`,
}

const list = (name: 'contacts' | 'messages', part: Part, most?: number): DearIntake['text'] => {
  const head = conversation(`"${name === 'contacts' ? 'messages' : 'contacts'}":[],"${name}":[`)
  return filled({ head, tail: ']}', most }, part)
}
const contacts = (part: Part): DearIntake['text'] => list('contacts', part, ITEMS)
const messages = (part: Part): DearIntake['text'] => list('messages', part, ITEMS)
const tags = (part: Part): DearIntake['text'] => filled({ head: '{"description":"x","tags":[', tail: ']}' }, part)
const repeated = (head: string, part: string, tail: string) => (bytes: number) =>
  head + part.repeat((bytes - head.length - tail.length) / Buffer.byteLength(part)) + tail

const CONVERSATIONS: Readonly<Record<string, DearIntake['text']>> = {
  // The id 0 would be refused.
  contacts: contacts((index) => `{"id":"u${index}"}`),
  'contacts of emails': contacts((index) => `{"id":"u${index}","properties":{"$email":"${index}@x"}}`),
  'contacts of long members': contacts(
    (index) => `{"id":"u${index}","properties":{"$email":"${index}@x","k":"${'x'.repeat(400)}"}}`,
  ),
  'contacts to unflatten': contacts(
    (index) => `{"id":"u${index}","shouldUnflattenProperties":true,"properties":{"a.b":0,"a.c":1}}`,
  ),
  'one contact of many sources': contacts((index) => `{"id":"x","source":"${index}"}`),
  'contacts with long ids': contacts((index) => `{"id":"${'😀'.repeat(500)}${index}"}`),
  'contacts with ids that are too long': contacts((index) => `{"id":"${'😀'.repeat(600)}${index}"}`),
  'contacts with many wrong values': contacts(
    () => '{"properties":{"$email":1,"$name":1,"$createdAt":1,"$updatedAt":"x","$contractValue":""},"source":1}',
  ),
  'too many contacts': list('contacts', (index) => `{"id":"u${index}"}`),
  'too many messages that are empty': list('messages', () => '{}'),
  'too many messages that are none': list('messages', () => '0'),
  'messages that are empty': messages(() => '{}'),
  messages: messages(() => message('')),
  'messages of senders': messages((index) => message(`"contactId":"${index}"`)),
  'messages of long URLs': messages((index) => message(`"contactId":"${index}","sourceUrl":"${'x'.repeat(350)}"`)),
  'messages to unflatten': messages(() => message('"shouldUnflattenProperties":true,"properties":{"a.b":0,"a.c":1}')),
  'messages of infinite numbers': messages(() => message(`"properties":{"a":[${times(70, () => '1e999')}]}`)),
  'messages of long dates': messages(() => `{"createdAt":"2026-01-01T00:00:00.${'1'.repeat(99)}x"}`),
  'a very long date': repeated(conversation('"updatedAt":"2026-01-01T00:00:00.'), '1', '"}'),
  'a very long id': repeated('{"id":"', '😀', '"}'),
  'no JSON': repeated('[', '0,', ''),
  'lines before an error': repeated('', '\n', 'x'),
  'too many levels at the end': repeated('[', '"",', '['.repeat(70)),
}
const FEEDBACKS: Readonly<Record<string, DearIntake['text']>> = {
  'a description': repeated('{"description":"', 'x', '"}'),
  'a description of U+0000': repeated('{"description":"', '\\u0000', '"}'),
  'a name of spaces': repeated('{"description":"x","contact":{"name":"', ' ', 'x"}}'),
  'too many tags': tags(() => '""'),
  'tags that are numbers': tags(() => '0'),
  'tags that are too long': tags(() => `"${'😀'.repeat(201)}"`),
  'an array': repeated('[', '{},', '0]'),
}

const inBodyOf = (operation: Operation, texts: Readonly<Record<string, DearIntake['text']>>): DearIntake[] =>
  Object.entries(texts).map(([title, text]) => ({ title, operation, text }))

/** Families of bodies that may have a high cost for their bytes. */
export const DEAR_INTAKES: readonly DearIntake[] = [
  ...Object.entries(PLACES).flatMap(([place, at]) =>
    Object.entries(CONTENTS).map(([content, part]) => ({
      title: `${place}, ${content}`,
      operation: at.operation,
      text: filled(at, part),
    })),
  ),
  ...inBodyOf('submit_conversation', CONVERSATIONS),
  ...inBodyOf('create_feedback', FEEDBACKS),
]

/** The most bytes of a body of the operation. */
export const maxBytesOf = (operation: Operation): number =>
  operation === 'submit_conversation' ? MAX_CONVERSATION_BODY_BYTES : MAX_BODY_BYTES
