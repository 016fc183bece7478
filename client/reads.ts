import { type Connection, patienceOf, send } from './send.ts'
import type {
  Account,
  AccountPage,
  Alert,
  AlertPage,
  ChangesPage,
  CountsPage,
  Customer,
  CustomerPage,
  Digest,
  DigestPage,
  Feedback,
  Theme,
  ThemePage,
  FeedbackCategory,
  FeedbackCategoryPage,
  FeedbackCount,
  FeedbackPage,
  Project,
  ProjectPage,
  SourcePage,
  StoredConversationFound,
  StoredConversationPage,
} from './types.ts'

export type ListQuery = {
  readonly limit?: number | undefined
  readonly order?: 'newest' | 'oldest' | undefined
  /** `next` of the previous page; null or absent begins the list. */
  readonly next?: string | null | undefined
}

/** An external id; with `source`, the external id in this source. */
type ExternalId = { readonly externalId?: string | undefined; readonly source?: string | undefined }
export type CustomerQuery = ListQuery & ExternalId & { readonly email?: string | undefined }
export type AccountQuery = ListQuery &
  ExternalId & { readonly domain?: string | undefined; readonly name?: string | undefined }

/** Each filter narrows the list. With several tags, feedback has to carry all of them. */
type FeedbackFilters = {
  readonly source?: string | undefined
  readonly tag?: string | readonly string[] | undefined
  readonly customerId?: string | undefined
  /** Feedback without an account belongs to the account of its contact. */
  readonly accountId?: string | undefined
  readonly projectId?: string | undefined
  readonly ratingMin?: number | undefined
  readonly ratingMax?: number | undefined
  /** From 0 to 1, on the scale of the source. */
  readonly satisfactionMin?: number | undefined
  readonly satisfactionMax?: number | undefined
  readonly createdFrom?: string | undefined
  readonly createdTo?: string | undefined
  /** The value of a declared field, such as `'field.plan': 'trial'`. */
  readonly [field: `field.${string}`]: string | number | boolean | undefined
  /** Words that all occur in the title or the description. */
  readonly q?: string | undefined
}

export type FeedbackQuery = ListQuery & FeedbackFilters

export type Dimension =
  'tag' | 'source' | 'project' | 'account' | 'customer' | 'week' | 'month' | 'rating' | `field.${string}`

export type CountsQuery = FeedbackFilters &
  Pick<ListQuery, 'limit' | 'next'> & {
    /** One or two things to count by. */
    readonly by: Dimension | readonly [Dimension, Dimension]
    /**
     * The most `feedback` first, which is the default; the least `satisfaction` first; the greatest
     * share of `bad` first; or by `key`, the default for week and month, the latest first.
     */
    readonly order?: 'feedback' | 'satisfaction' | 'bad' | 'key' | undefined
  }

/** A group has the value of a declared field in a member such as `field.plan`. */
type Counted = FeedbackCount & { readonly [field: `field.${string}`]: string | null | undefined }
type CountedPage = Omit<CountsPage, 'counts'> & { readonly counts: readonly Counted[] }

export type ChangesQuery = {
  /** `next` of the previous answer; without it the feed begins with all existing records. */
  readonly after?: string | number | null | undefined
  readonly limit?: number | undefined
  /** Waits for a change, at most this many seconds (30 at most). */
  readonly waitSeconds?: number | undefined
}

/**
 * Reads, with a token of scope `read` or `admin`. A page can have fewer records than `limit`
 * although the list goes on.
 */
export type Reads = ReturnType<typeof createReads>

type List<Page, Query = ListQuery> = (query?: Query) => Promise<Page>

export const createReads = (connection: Connection) => {
  const read = async (path: string, query: object = {}, waitSeconds?: number): Promise<unknown> =>
    (await send(connection, { path: `${path}${queryText(query)}`, waitSeconds }, patienceOf(connection))).body
  const list = (path: string) => (query?: object) => read(path, query)
  const getById =
    <Found>(path: string, member: string) =>
    async (id: string): Promise<Found> =>
      ((await read(`${path}/${encodeURIComponent(id)}`)) as Record<string, Found>)[member]!
  return {
    listFeedbacks: list('/feedbacks') as List<FeedbackPage, FeedbackQuery>,
    getFeedback: getById<Feedback>('/feedbacks', 'feedback'),
    listCustomers: list('/customers') as List<CustomerPage, CustomerQuery>,
    getCustomer: getById<Customer>('/customers', 'customer'),
    listAccounts: list('/accounts') as List<AccountPage, AccountQuery>,
    getAccount: getById<Account>('/accounts', 'account'),
    listProjects: list('/projects') as List<ProjectPage>,
    getProject: getById<Project>('/projects', 'project'),
    listThemes: list('/themes') as List<ThemePage>,
    getTheme: getById<Theme>('/themes', 'theme'),
    listAlerts: list('/alerts') as List<AlertPage>,
    getAlert: getById<Alert>('/alerts', 'alert'),
    listDigests: list('/digests') as List<DigestPage>,
    getDigest: getById<Digest>('/digests', 'digest'),
    listFeedbackCategories: list('/feedback-categories') as List<FeedbackCategoryPage>,
    getFeedbackCategory: getById<FeedbackCategory>('/feedback-categories', 'feedbackCategory'),
    listConversations: list('/conversations') as List<StoredConversationPage>,
    /** The conversation with a page of its messages. */
    getConversation: (id: string, query?: ListQuery) =>
      read(`/conversations/${encodeURIComponent(id)}`, query) as Promise<StoredConversationFound>,
    /** Feedback in total, and in groups. */
    countFeedback: ({ by, ...query }: CountsQuery) =>
      read('/counts', { by: [by].flat().join(), ...query }) as Promise<CountedPage>,
    listSources: list('/sources') as List<SourcePage, Pick<ListQuery, 'limit' | 'next'>>,
    listChanges: ({ waitSeconds, ...query }: ChangesQuery = {}) =>
      read('/changes', query, waitSeconds) as Promise<ChangesPage>,
  }
}

/** The records of a list, such as `each(client.listFeedbacks, { source: 'Zendesk' })`. Reads page by page. */
export const each = async function* <Page extends ListedPage, Query extends Pick<ListQuery, 'next'> | undefined>(
  list: (query: Query) => Promise<Page>,
  query?: Query,
): AsyncGenerator<RecordOf<Page>> {
  let next = query?.next
  do {
    const page = await list({ ...query, next } as Query)
    const members: unknown[] = Object.values(page)
    // The records come first.
    yield* members.find(Array.isArray) as RecordOf<Page>[]
    next = page.next
  } while (next !== null)
}

type ListedPage = { readonly next: string | null }
type RecordOf<Page> = Extract<Page[Exclude<keyof Page, 'unknownWords'>], readonly unknown[]>[number]

/**
 * The pages of the change feed, for ever: waits where the feed ends. Keep `next` of a page when you
 * have stored its changes, and begin with it after a restart.
 */
export const followChanges = async function* (
  { listChanges }: Pick<Reads, 'listChanges'>,
  { after, waitSeconds = MOST_WAIT_SECONDS, ...query }: ChangesQuery = {},
): AsyncGenerator<ChangesPage> {
  for (let place = after; ;) {
    const page = await listChanges({ ...query, after: place, waitSeconds })
    if (page.changes.length > 0 || page.next !== String(place)) yield page
    place = page.next
  }
}

const MOST_WAIT_SECONDS = 30

const queryText = (query: object): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query as Record<string, Given | readonly string[]>))
    for (const one of [value].flat()) if (one != null) search.append(name, String(one))
  return search.size === 0 ? '' : `?${search}`
}

type Given = string | number | boolean | null | undefined
