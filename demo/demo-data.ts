import { readFileSync } from 'node:fs'
import type { BatchItem } from '../client/client.ts'
import { RELEASE_PRODUCT, releaseStory } from './release-story.ts'

/** The source of the records of the demo, with ratings from 1 to 5. */
const DEMO_SOURCE = 'demo'
/** The source of the pieces of reviews, with ratings from 0 to 10. */
const SURVEY_SOURCE = 'demo-survey'
export const DEMO_SOURCES = [DEMO_SOURCE, SURVEY_SOURCE]
const SURVEY_RATINGS: Readonly<Record<number, number>> = { 1: 0, 2: 3, 3: 5, 4: 8, 5: 10 }

type Review = { readonly id: string; readonly text: string; readonly rating: number }

type DemoData = Readonly<Record<'accounts' | 'contacts' | 'feedback' | 'conversations', readonly BatchItem[]>>

/** The text of a feedback, with its age in days. */
type FeedbackText = Review & { readonly source: string; readonly product: string; readonly daysAgo: number }

type Company = { readonly id: string; readonly name: string; readonly domain: string }
type Person = { readonly id: string; readonly name: string; readonly email: string; readonly company: Company }

const PEOPLE = 60
const FIRST_CONTACT_AT = new Date(Date.UTC(2024, 0, 8, 9))
const CONVERSATIONS = 8
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/**
 * The reviews and their pieces are spread over this many days, in steps of STEP days. DAYS and STEP
 * have no common divisor, so every day gets feedback.
 */
const DAYS = 182
const STEP = 67
const DAYS_BETWEEN_CONVERSATIONS = 7
const AFFECTED_COMPANIES = 6
const PIECES_PER_REVIEW = 2
const MIN_WORDS_PER_PIECE = 45

const COMPANY_NAMES = [
  'Harbour Lights Hotels',
  'Juniper Logistics',
  'Blue Kettle Coffee',
  'Northfield Clinics',
  'Paper Lantern Books',
  'Granite Peak Outdoor',
  'Quiet Orchard Foods',
  'Copper Lane Design',
  'Silverbirch Schools',
  'Tidewater Insurance',
  'Redwood Rail',
  'Little Comet Toys',
  'Maple & Stone Builders',
  'Open Meadow Farms',
  'Cedar Bridge Bank',
]
const GIVEN_NAMES = [
  'Amara',
  'Bruno',
  'Chen',
  'Dalia',
  'Emil',
  'Farah',
  'Goran',
  'Hana',
  'Ines',
  'Jonas',
  'Keiko',
  'Luca',
]
const FAMILY_NAMES = [
  'Abara',
  'Bergstrom',
  'Castell',
  'Dufour',
  'Eriksen',
  'Fontana',
  'Grabowski',
  'Haddad',
  'Ivanko',
  'Jansen',
]
const CITIES = ['Lisbon', 'Leeds', 'Lyon', 'Leipzig', 'Lund']
const PLANS = ['free', 'team', 'enterprise']
const DEVICES = ['desktop', 'mobile', 'tablet']
const PRODUCTS: Record<string, string> = {
  'apex-dvd': 'DVD player',
  'canon-g3': 'Digital camera G',
  'creative-mp3': 'MP3 player',
  'nikon-4300': 'Digital camera N',
  'nokia-6610': 'Mobile phone',
}

export const readReviews = (): Review[] => {
  const lines = readFileSync(new URL('./reviews.jsonl', import.meta.url), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Review)
}

/**
 * The submissions of the demo, dated up to `now`. Except for the dates, they are always the same,
 * so a second run replaces the records of the first. Feedback about a broken release comes first.
 */
export const createDemoData = (reviews: readonly Review[], now: Date): DemoData => {
  const companies = COMPANY_NAMES.map(toCompany)
  const people = Array.from({ length: PEOPLE }, (_, at) => toPerson(at, pick(companies, at)))
  const story = releaseStory().map((piece, at) => ({
    ...piece,
    id: `release:${at + 1}`,
    source: DEMO_SOURCE,
    product: RELEASE_PRODUCT,
  }))
  // The release affects the accounts with the highest contract values.
  const affected = people.filter(({ company }) => companies.indexOf(company) >= companies.length - AFFECTED_COMPANIES)
  const texts = reviews
    .flatMap(({ id, text, rating }) => [
      { id: `review:${id}`, text, rating, source: DEMO_SOURCE },
      ...cutIntoPieces(text).map((piece, at) => ({
        id: `piece:${id}/${at + 1}`,
        text: piece,
        rating: SURVEY_RATINGS[rating]!,
        source: SURVEY_SOURCE,
      })),
    ])
    .map((review, at) => ({ ...review, product: productOf(review.id), daysAgo: (at * STEP) % DAYS }))
  return {
    accounts: companies.map(identifyAccount),
    contacts: people.map(identifyContact),
    feedback: [
      ...story.map((text, at) => submitFeedback(text, at, { person: pick(affected, at * 7), now })),
      ...texts.map((text, at) => submitFeedback(text, at, { person: pick(people, at * 7), now })),
    ],
    conversations: reviews
      .slice(0, CONVERSATIONS)
      .map((review, at) => submitConversation(review, at, { person: pick(people, at * 5), now })),
  }
}

const toCompany = (name: string, at: number): Company => {
  const host = name.toLowerCase().replace(/[^a-z]+/g, '-')
  return { id: `acct-${twoDigits(at + 1)}`, name, domain: `${host}.example.com` }
}

/** 12 given names and 10 family names: the pairs repeat only after 60. */
const toPerson = (at: number, company: Company): Person => {
  const given = pick(GIVEN_NAMES, at)
  const family = pick(FAMILY_NAMES, at)
  const email = `${given}.${family}@${company.domain}`.toLowerCase()
  return { id: `user-${twoDigits(at + 1)}`, name: `${given} ${family}`, email, company }
}

const identifyAccount = (company: Company, at: number): BatchItem => {
  const properties = {
    $name: company.name,
    $domain: company.domain,
    // From the value of a shop to that of a bank: 1,200, then 40 % more each time.
    $contractValue: Math.round(12 * 1.4 ** at) * 100,
    plan: pick(PLANS, at),
    'address.city': pick(CITIES, at),
  }
  return { operation: 'identify_account', body: { id: company.id, shouldUnflattenProperties: true, properties } }
}

const identifyContact = (person: Person, at: number): BatchItem => {
  const properties = {
    $name: person.name,
    $email: person.email,
    $createdAt: hoursBefore(FIRST_CONTACT_AT, -24 * at),
    'preferences.newsletter': at % 3 === 0,
  }
  const body = {
    id: person.id,
    source: DEMO_SOURCE,
    shouldUnflattenProperties: true,
    properties,
    account: { id: person.company.id },
  }
  return { operation: 'identify_contact', body }
}

/** Names contacts by external id or by email, and accounts by name or by external id, in turn. */
const submitFeedback = (
  { id, text, rating, source, product, daysAgo }: FeedbackText,
  at: number,
  { person, now }: { person: Person; now: Date },
): BatchItem => {
  const contact =
    at % 2 === 0
      ? { contactId: person.id, isExternalContactId: true }
      : { contact: { name: person.name, email: person.email } }
  const account =
    at % 3 === 0
      ? { account: { name: person.company.name } }
      : { accountId: person.company.id, isExternalAccountId: true }
  const body = {
    description: text,
    source,
    sourceId: id,
    rating,
    createdAt: hoursBefore(now, 24 * daysAgo + (at % 9)),
    project: { name: product },
    shouldUnflattenSourceData: true,
    sourceData: { url: `https://shop.example.com/reviews/${at + 1}`, 'device.type': pick(DEVICES, at) },
    ...contact,
    ...account,
  }
  return { operation: 'create_feedback', body }
}

const submitConversation = (
  { id, text }: Review,
  at: number,
  { person, now }: { person: Person; now: Date },
): BatchItem => {
  const pieces = cutIntoPieces(text)
  const start = new Date(now.getTime() - (at * DAYS_BETWEEN_CONVERSATIONS + 1) * DAY_MS)
  const after = (hours: number): string => hoursBefore(start, -hours)
  const asked = (pieces.length > 0 ? pieces : [text]).map((content, turn) => [
    { id: `m${2 * turn + 1}`, incoming: true, contactId: person.id, content, createdAt: after(2 * turn) },
    {
      id: `m${2 * turn + 2}`,
      incoming: false,
      contactId: 'agent-1',
      content: 'Thank you for telling us. We have passed this on.',
      createdAt: after(2 * turn + 1),
      properties: { 'handled.by': 'support' },
      shouldUnflattenProperties: true,
    },
  ])
  const body = {
    id: `chat-${at + 1}`,
    title: `About the ${productOf(id)}`,
    source: DEMO_SOURCE,
    createdAt: start.toISOString(),
    contacts: [{ id: person.id, properties: { $email: person.email } }],
    messages: asked.flat().map((message) => ({ properties: {}, ...message })),
    properties: { channel: 'chat' },
    propagatePropertiesToMessages: true,
  }
  return { operation: 'submit_conversation', body }
}

/**
 * The first pieces of a text, in whole sentences and of the size of a usual feedback. None if the
 * text is no longer than one piece.
 */
const cutIntoPieces = (text: string): string[] => {
  const pieces: string[] = []
  let piece: string[] = []
  for (const sentence of text.split('\n')) {
    piece.push(sentence)
    if (countWords(piece) < MIN_WORDS_PER_PIECE) continue
    pieces.push(piece.join('\n'))
    piece = []
  }
  return pieces.length === 1 && piece.length === 0 ? [] : pieces.slice(0, PIECES_PER_REVIEW)
}

const countWords = (sentences: readonly string[]): number => {
  return sentences.join(' ').split(/\s+/).length
}

const productOf = (id: string): string => {
  const key = id.replace(/^.*:/, '').replace(/\/.*$/, '')
  return PRODUCTS[key] ?? key
}

const hoursBefore = (time: Date, hours: number): string => {
  return new Date(time.getTime() - hours * HOUR_MS).toISOString()
}

const twoDigits = (number: number): string => {
  return String(number).padStart(2, '0')
}

const pick = <Value>(values: readonly Value[], at: number): Value => {
  const value = values[at % values.length]
  if (value === undefined) throw new RangeError('nothing to pick from')
  return value
}
