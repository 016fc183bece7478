import type { StoredConversation, StoredMessage } from '../contract/record-schemas.ts'
import { htmlAsText } from '../runtime/reduce-html.ts'
import { filterForm } from './filter-form.ts'
import { unknownWords } from './first.ts'
import { moreLink, spanWords } from './feedback-list.ts'
import { fact } from './feedback-page.ts'
import { html, type Html } from './html.ts'
import { cut, decimal, label, plural, QUOTE_BYTES, timeOf } from './parts.ts'
import { type PageAsked, feedbackLink, linkTo, NO_RECORD, type NoPage, type InsightPage, type Site } from './site.ts'
import { readListed, TEXTS_OF_A_PAGE } from './text-list.ts'

/** The conversations that have the filters. They are never hidden. */
export const conversationsPage = async (asked: PageAsked): Promise<InsightPage> => {
  const { site, view, reads } = asked
  const { filters, query, next } = view
  const list = { kind: 'conversation', filters, isOldestFirst: false, limit: TEXTS_OF_A_PAGE } as const
  const found = await readListed(reads, list, next)
  const { total } = await reads.count({ of: 'conversation', by: ['source'], filters, limit: 1 })
  const rows = (found.records as StoredConversation[]).map((each) => html`<li>${conversationLine(site, each)}</li> `)
  const main = html`<p class="span">
      <strong id="total">${plural(total.feedback, 'conversation')}</strong> ${spanWords(query)}
    </p>
    ${await filterForm(asked, { path: '/conversations', hasSpan: false, of: 'conversations' })}
    ${unknownWords(found.unknownWords)}
    <section>
      <h2>Newest first</h2>
      ${
        rows.length === 0
          ? html`<p>No conversations here.</p>`
          : html`<ul class="texts">
              ${rows}
            </ul>`
      }
      ${moreLink(asked, '/conversations', found.next)}
    </section>`
  return { title: 'Conversations', main }
}

const conversationLine = (
  site: Site,
  { id, title, createdAt, source, kind, rating, tags = [] }: StoredConversation,
): Html =>
  html`<p dir="auto" class="title">${cut(title ?? '(no title)', QUOTE_BYTES / 4)}</p>
    <p class="note">
      ${linkTo(site, { path: `/conversations/${id}` }, timeOf(createdAt))} ·
      ${label(source)}${kind === undefined ? '' : ` · ${kind}`}${
        rating === undefined ? '' : ` · rated ${decimal(rating)}`
      }
      ${tags.slice(0, 8).map((tag) => html`<span class="tag">${label(tag)}</span> `)}
    </p>`

/** One conversation with a page of its messages. */
export const conversationPage = async (asked: PageAsked, id: string): Promise<InsightPage | NoPage> => {
  const { site, view, reads } = asked
  const found = await reads.record('conversation', id)
  if (found === undefined) return NO_RECORD
  const conversation = found.record as StoredConversation
  const list = {
    kind: 'message',
    filters: { conversationId: id },
    isOldestFirst: true,
    limit: TEXTS_OF_A_PAGE,
  } as const
  const messages = await readListed(reads, list, view.next)
  const { title, source, createdAt, rating, kind, themeId, customerIds, externalId } = conversation
  const main = html`<section>
      <dl class="facts">
        ${fact('Begun', timeOf(createdAt))} ${fact('Source', label(source))} ${fact('In its source', label(externalId))}
        ${fact('Rating', html`${decimal(rating)}`)} ${fact('Kind', html`${kind ?? '–'}`)}
        ${fact('Theme', themeId === undefined ? html`–` : linkTo(site, { path: `/themes/${themeId}` }, 'its theme'))}
        ${fact('Customers', html`${customerIds.slice(0, 20).map((each, at) => html`${linkTo(site, { path: `/customers/${each}` }, `customer ${at + 1}`)} `)}`)}
      </dl>
    </section>
    <section>
      <h2>Messages</h2>
      <ol class="texts">
        ${(messages.records as StoredMessage[]).map((message) => html`<li>${messageOf(site, message)}</li> `)}
      </ol>
      ${moreLink(asked, `/conversations/${id}`, messages.next)}
    </section>`
  return { title: `Conversation: ${cut(title ?? '(no title)')}`, main }
}

const messageOf = (site: Site, { content, createdAt, incoming, customerId, sourceUrl }: StoredMessage): Html => {
  const link =
    sourceUrl !== undefined && /^https?:\/\//i.test(sourceUrl)
      ? html` · <a href="${sourceUrl}" rel="noreferrer noopener">original</a>`
      : html``
  const author =
    customerId === undefined ? html`` : html` · ${feedbackLink(site, { customerId }, 'feedback of this person')}`
  return html`<blockquote dir="auto"><p>${cut(htmlAsText(content), QUOTE_BYTES)}</p></blockquote>
    <p class="note">${timeOf(createdAt)} · ${incoming ? 'from a customer' : 'from the team'}${author}${link}</p>`
}
