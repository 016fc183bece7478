import type { AccountContext } from '../db/reads/context.ts'
import type { Dimension } from '../db/reads/dimensions.ts'
import type { SpanOrder } from '../db/reads/spans.ts'
import { fact } from './feedback-page.ts'
import { filterForm } from './filter-form.ts'
import { groupTable, inOrder, shownOf } from './group-table.ts'
import { html, type Html } from './html.ts'
import { cut, label, number, plural, SMALL_TABLE_BYTES } from './parts.ts'
import { type PageAsked, feedbackLink, linkTo, NO_RECORD, type NoPage, type InsightPage, type Site } from './site.ts'
import { spansOf, spanText, tiles, trend } from './spans.ts'
import { readListed, textList } from './text-list.ts'
import { orderLinks, orderOf } from './themes-page.ts'
import { type ViewQuery, spannedOf } from './view.ts'

const MOST = 50
const MOST_OF_ACCOUNT = 10
const LATEST = 10
const MOST_PROPERTIES_BYTES = 4_000
const ORDERS = {
  contractValue: 'contract value',
  bad: 'most bad ratings',
  worse: 'satisfaction fell most',
  growth: 'feedback grew most',
  fall: 'feedback fell most',
  feedback: 'most feedback',
} as const satisfies Partial<Record<SpanOrder, string>>

/** Accounts by value, by how unhappy they are, and by how much they changed. */
export const accountsPage = async (asked: PageAsked): Promise<InsightPage> => {
  const { site, view } = asked
  const spanned = spannedOf(view, site.now)
  const order = orderOf(view.order, ORDERS, 'contractValue')
  const spans = await spansOf(asked, spanned, { by: ['account'], orders: [order], limit: MOST })
  const [accounts] = spans.of
  const shown = inOrder(accounts!, order, MOST)
  const groups = shown.filter(({ key }) => key !== null)
  const main = html`${await spanText(asked, spanned)} ${await filterForm(asked, { path: '/accounts', hasSpan: true })}
    <section>
      <h2>Accounts with feedback in this time or before</h2>
      ${orderLinks(site, '/accounts', { query: spanned.afterQuery, orders: ORDERS, now: order })}
      ${groups.length === 0 ? html`<p>No feedback of accounts.</p>` : groupTable(site, spanned, { name: 'Accounts', by: 'account', groups })}
      ${shownOf(groups.length, accounts!.found - (shown.length - groups.length), 'account')}
    </section>`
  return { title: 'Accounts', main }
}

/** One account: its value, its figures, what it talks about, and its latest words. */
export const accountPage = async (asked: PageAsked, given: string): Promise<InsightPage | NoPage> => {
  const { site, reads } = asked
  const found = await reads.record('account', given)
  const account = found && (await reads.accountContext(found.id))
  if (account === undefined) return NO_RECORD
  const name = account.name ?? account.domain ?? '(no name)'
  const by = ['theme', 'kind', 'customer'] as const
  const main = html`<section>${accountFacts(site, account)}</section>
    ${await storyOf(asked, { path: `/accounts/${account.id}`, own: { accountId: account.id }, by })}`
  return { title: `Account: ${cut(name)}`, main }
}

const accountFacts = (site: Site, { id, domain, contractValue, properties, customers }: AccountContext): Html =>
  html`<dl class="facts">
    ${fact('Contract value', html`${number(contractValue)}`)} ${fact('Domain', label(domain ?? '–'))}
    ${fact('Customers', html`${plural(customers, 'person', 'people')}`)}
    ${fact(
      'All feedback',
      html`${feedbackLink(site, { accountId: id }, 'of all times')},
      ${linkTo(site, { path: '/conversations', query: { accountId: id } }, 'conversations')}`,
    )}
    ${fact('Metadata', html`<code>${cut(properties, MOST_PROPERTIES_BYTES)}</code>`)}
  </dl>`

type Story = {
  readonly path: string
  readonly own: { accountId: string } | { customerId: string }
  readonly by: readonly Dimension[]
}

const NAMES: Readonly<Record<string, string>> = {
  theme: 'Themes',
  kind: 'Kinds',
  customer: 'People',
  source: 'Sources',
}

/** The figures of one account or customer, its groups, and its latest feedback. */
const storyOf = async (asked: PageAsked, { path, own, by }: Story): Promise<Html> => {
  const { site, view, reads } = asked
  const ownView = { ...view, query: { ...view.query, ...own } as ViewQuery, filters: { ...view.filters, ...own } }
  const spanned = spannedOf(ownView, site.now)
  const spans = await spansOf(asked, spanned, { by, orders: ['feedback'], limit: MOST_OF_ACCOUNT, countsPeople: true })
  const latest = await readListed(
    reads,
    { kind: 'feedback', filters: own, isOldestFirst: false, limit: LATEST },
    undefined,
  )
  return html`${await spanText(asked, spanned)} ${await filterForm(asked, { path, hasSpan: true })}
    ${tiles(site, spanned, spans)} ${trend(site, spanned, spans.steps)}
    ${by.map((name, at) => {
      const groups = inOrder(spans.of[at]!, 'feedback', MOST_OF_ACCOUNT)
      return groups.length === 0
        ? html``
        : html`<section>
            <h2>${NAMES[name] ?? name}</h2>
            ${groupTable(site, spanned, { name: NAMES[name] ?? name, by: name, groups, mostBytes: SMALL_TABLE_BYTES })}
          </section>`
    })}
    <section>
      <h2>Latest feedback, of all times</h2>
      ${await textList(asked, latest.records)}
      <p>${feedbackLink(site, own, 'All feedback')}</p>
    </section>`
}

type CustomerRecord = { name?: string; email?: string; accountId?: string; contractValue?: number; properties?: object }

/** One customer: a person. */
export const customerPage = async (asked: PageAsked, given: string): Promise<InsightPage | NoPage> => {
  const { site, reads } = asked
  const found = await reads.record('customer', given)
  if (found === undefined) return NO_RECORD
  const { name, email, accountId, properties = {} } = found.record as CustomerRecord
  const account = accountId === undefined ? undefined : await reads.accountContext(accountId)
  const of =
    account && linkTo(site, { path: `/accounts/${account.id}` }, label(account.name ?? account.domain ?? '(no name)'))
  const main = html`<section>
      <dl class="facts">
        ${fact('Email', label(email ?? '–'))} ${fact('Account', of ?? html`–`)}
        ${fact('Conversations', linkTo(site, { path: '/conversations', query: { customerId: found.id } }, 'Conversations'))}
        ${fact('Metadata', html`<code>${cut(JSON.stringify(properties), MOST_PROPERTIES_BYTES)}</code>`)}
      </dl>
    </section>
    ${await storyOf(asked, { path: `/customers/${found.id}`, own: { customerId: found.id }, by: ['theme', 'source'] })}`
  return { title: `Customer: ${cut(name ?? '(no name)')}`, main }
}
