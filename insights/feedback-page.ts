import type { JsonValue } from '../contract/json.ts'
import { TEXT_KINDS } from '../contract/kinds-of-texts.ts'
import type { Feedback } from '../contract/record-schemas.ts'
import { MOST_JSON_CHARACTERS } from '../db/reads/context.ts'
import type { FeedbackContext } from '../db/reads/context.ts'
import { htmlAsText } from '../runtime/reduce-html.ts'
import { choiceOf } from './filter-form.ts'
import { html, type Html } from './html.ts'
import { cut, decimal, label, NONE, number, percent, plural, timeOf } from './parts.ts'
import {
  type PageAsked,
  changeForm,
  feedbackLink,
  linkTo,
  NO_RECORD,
  type NoPage,
  type InsightPage,
  type Site,
} from './site.ts'
import { ifShort, readListed, textList } from './text-list.ts'
import { readThemes } from './theme-names.ts'

const TEXT_BYTES = 20_000
const OTHERS = 5

/** One feedback with all that belongs to it. */
export const feedbackPage = async (asked: PageAsked, given: string): Promise<InsightPage | NoPage> => {
  const { reads } = asked
  const found = await reads.record('feedback', given)
  if (found === undefined) return NO_RECORD
  const feedback = found.record as Feedback
  const context = await reads.feedbackContext(found.id)
  const main = html`<section>
      <blockquote dir="auto" class="whole">
        ${feedback.title === undefined ? html`` : html`<p class="title">${cut(feedback.title, TEXT_BYTES / 10)}</p>`}
        <p>${cut(htmlAsText(feedback.description), TEXT_BYTES)}</p>
      </blockquote>
      ${await facts(asked, feedback, context)}
    </section>
    ${await similarTexts(asked, feedback)} ${await othersOf(asked, feedback)} ${await corrections(asked, feedback)}`
  return { title: 'One feedback', main }
}

const facts = async (
  { site, reads }: PageAsked,
  feedback: Feedback,
  context: FeedbackContext | undefined,
): Promise<Html> => {
  const {
    source = '',
    rating,
    satisfaction,
    kind,
    mood,
    themeId,
    themeName,
    themeBy,
    tags = [],
    fields = {},
  } = feedback
  const sourceId = feedback.sourceId
  const link = (await reads.sources()).find((each) => each.source === source)?.link
  const original =
    link == null || sourceId === undefined
      ? label(sourceId ?? NONE)
      : outsideLink(link.replace('{sourceId}', encodeURIComponent(sourceId)), sourceId)
  return html`<dl class="facts">
    ${fact('Given', timeOf(feedback.createdAt ?? ''))} ${customerFacts(site, context)}
    ${fact('Project', context?.project ? feedbackLink(site, { projectId: context.project.id }, label(context.project.name)) : html`–`)}
    ${fact('Source', feedbackLink(site, { source }, label(source)))} ${fact('In its source', original)}
    ${fact('Rating', html`${decimal(rating)}${satisfaction === undefined ? '' : ` (${percent(satisfaction)} on the scale of its source)`}`)}
    ${fact('Kind', kind === undefined ? html`–` : feedbackLink(site, { kind }, kind))}
    ${fact('Mood', html`${decimal(mood)}`)}
    ${fact('Theme', themeId === undefined ? html`–` : html`${linkTo(site, { path: `/themes/${themeId}` }, label(themeName ?? '(no name)'))} (by ${themeBy ?? 'tag'})`)}
    ${fact('Tags', html`${tags.slice(0, 40).map((tag) => html`<span class="tag">${feedbackLink(site, ifShort(tag, { tag }), label(tag))}</span> `)}`)}
    ${Object.entries(fields).map(([name, value]) => fact(name, feedbackLink(site, ifShort(textOf(value), { [`field.${name}`]: textOf(value) }), label(textOf(value)))))}
    ${feedback.isHidden === true ? fact('Hidden', html`A person has hidden it: it is in no count.`) : html``}
    ${context?.sourceData ? fact('Source data', html`<code>${cut(context.sourceData, MOST_JSON_CHARACTERS)}</code>`) : html``}
  </dl>`
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export const fact = (name: string, value: Html): Html =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`

/** A link of a source is http or https (`isSourceLink`). The other site learns nothing of this page. */
const outsideLink = (address: string, text: string): Html =>
  /^https?:\/\//.test(address) ? html`<a href="${address}" rel="noreferrer noopener">${label(text)}</a>` : label(text)

const customerFacts = (site: Site, context: FeedbackContext | undefined): Html => {
  const { customer, account } = context ?? {}
  return html`${
    customer
      ? fact(
          'Customer',
          html`${linkTo(site, { path: `/customers/${customer.id}` }, label(customer.name ?? '(no name)'))}
          ${customer.email === null ? '' : label(customer.email)},
          ${feedbackLink(site, { customerId: customer.id }, plural(customer.feedback, 'feedback', 'feedback'))}`,
        )
      : fact('Customer', html`Unknown`)
  }
  ${
    account
      ? fact(
          'Account',
          html`${linkTo(site, { path: `/accounts/${account.id}` }, label(account.name ?? account.domain ?? '(no name)'))}
          ${account.contractValue === null ? '' : `contract value ${number(account.contractValue)}`}`,
        )
      : html``
  }`
}

const similarTexts = async (asked: PageAsked, { id, similarId }: Feedback): Promise<Html> => {
  if (similarId === undefined) return html``
  const { site, reads } = asked
  const list = { kind: 'feedback', filters: { similarId }, isOldestFirst: false, limit: OTHERS + 1 } as const
  const { records } = await readListed(reads, list, undefined)
  const others = (records as Feedback[]).filter((other) => other.id !== id)
  const count = (await reads.similar([similarId])).get(similarId) ?? 0
  return html`<section>
    <h2>Near-identical texts</h2>
    <p>${feedbackLink(site, { similarId }, plural(count, 'text'))}, this one included.</p>
    ${await textList(asked, others.slice(0, OTHERS), { isSimilarJoined: false })}
  </section>`
}

const othersOf = async (asked: PageAsked, { id, customerId }: Feedback): Promise<Html> => {
  if (customerId === undefined) return html``
  const list = { kind: 'feedback', filters: { customerId }, isOldestFirst: false, limit: OTHERS + 1 } as const
  const { records } = await readListed(asked.reads, list, undefined)
  const others = (records as Feedback[]).filter((other) => other.id !== id).slice(0, OTHERS)
  return others.length === 0
    ? html``
    : html`<section>
        <h2>Other feedback of the customer</h2>
        ${await textList(asked, others)}
      </section>`
}

/** The forms that correct a feedback, each with the value that it has. */
const corrections = async ({ site, reads }: PageAsked, feedback: Feedback): Promise<Html> => {
  if (!site.may.edit || site.address === undefined) return html``
  const { id, tags = [], kind, themeId, isHidden = false } = feedback
  const path = `/feedback/${id}`
  const given = await reads.corrections(id)
  const themes = (await readThemes(reads))
    .filter(({ isOpen }) => isOpen)
    .map((theme) => ({ value: theme.id, name: theme.name }))
  const kinds = TEXT_KINDS.map((each) => ({ value: each, name: each }))
  return html`<section class="changes">
    <h2>Correct it</h2>
    ${changeForm(site, { path, act: 'tags', submit: 'Save the tags' }, html`<label>Tags, one a line <textarea name="tags" rows="4">${tags.join('\n')}</textarea></label> ${setBy(given['tags'])}`)}
    ${changeForm(site, { path, act: 'kind', submit: 'Save the kind' }, html`${choiceOf({ name: 'kind', text: 'Kind', choices: kinds, none: 'as the service finds it' }, { kind })} ${setBy(given['kind'])}`)}
    ${changeForm(site, { path, act: 'themeId', submit: 'Save the theme' }, html`${choiceOf({ name: 'themeId', text: 'Theme', choices: themes, none: 'as the service finds it' }, { themeId })} ${setBy(given['themeId'])}`)}
    ${changeForm(site, { path, act: 'body', submit: isHidden ? 'Show it again' : 'Hide it', body: { isHidden: isHidden ? null : true } }, html`<p>${isHidden ? 'It is in no count.' : 'A hidden feedback is in no count.'}</p>`)}
    ${site.may.administer ? deletion(site, path) : html``}
  </section>`
}

const setBy = (given: JsonValue | undefined): Html =>
  given == null ? html`` : html`<span class="note">set by a person</span>`

const deletion = (site: Site, path: string): Html =>
  html`<details>
    <summary>Delete it …</summary>
    ${changeForm(site, { path, act: 'delete', submit: 'Delete it for ever' }, html`<label class="box"><input type="checkbox" name="sure" value="yes" required /> Yes, delete this text and everything made from it. This cannot be undone.</label>`)}
  </details>`
