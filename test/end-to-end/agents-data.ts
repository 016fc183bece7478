const DAY_MS = 86_400_000
const FIRST = Date.parse('2026-01-05T10:00:00Z')
export const daysAfterFirst = (days: number): string => new Date(FIRST + days * DAY_MS).toISOString()

/** One a day for 42 days, then one every second day, so that periods differ. */
export const ITEMS = Array.from({ length: 84 }, (_, at) => ({
  operation: 'create_feedback',
  body: {
    description: at % 3 === 0 ? `The EXPORT takes long, case ${at}` : `Login asks twice, case ${at}`,
    title: at % 4 === 0 ? `Größe ${at}` : null,
    source: ['Help desk', 'Store', 'Survey'][at % 3],
    tags: [['speed', `area ${at % 13}`], ['login', 'speed'], ['login', `area ${at % 13}`], []][at % 4],
    rating: at % 7 === 6 ? null : (at % 5) + (at % 2) / 2,
    createdAt: daysAfterFirst(at < 42 ? at : at + (at % 42)),
    contact: { email: `p${at % 9}@example.org` },
    account: at % 5 === 0 ? { name: 'Acme' } : null,
    project: { name: ['Reports', 'Sign-in'][at % 2] },
  },
}))

/** Feedback without an account counts for the account of its customer. */
export const PEOPLE = Array.from({ length: 9 }, (_, at) => ({
  operation: 'identify_contact',
  body: {
    id: `p${at}`,
    properties: { $email: `p${at}@example.org`, $name: `Person ${at}` },
    account: { id: `w${at % 3}`, properties: { $name: `Works ${at % 3}`, $domain: `works-${at % 3}.example` } },
  },
}))

export const MESSAGES = Array.from({ length: 12 }, (_, at) => ({
  id: `m${at}`,
  incoming: at % 2 === 0,
  content: `Message ${at}`,
  createdAt: `2026-01-01T00:00:${10 + at}Z`,
  contactId: 'pat',
}))
