import type { JsonObject } from '../contract/json.ts'
import type { Source } from '../db/sources.ts'
import { html, type Html } from './html.ts'
import { decimal, label, plural } from './parts.ts'
import { type PageAsked, changeForm, NO_RECORD, type NoPage, type InsightPage, type Site } from './site.ts'

type ShownSettings = Omit<Source, 'feedback'>

const MOST_SOURCES = 50

/** The settings of sources: scale, link and fields. */
export const settingsPage = async ({ site, reads }: PageAsked): Promise<InsightPage | NoPage> => {
  if (!site.may.administer) return NO_RECORD
  const known = await reads.sources()
  const counted = await reads.count({ by: ['source'], filters: {}, limit: MOST_SOURCES })
  const names = new Set(known.map(({ source }) => source))
  const others = counted.top.flatMap(({ keys }) => keys[0]!.key ?? []).filter((source) => !names.has(source))
  const all = [...known, ...others.map(withoutSettings)].slice(0, MOST_SOURCES)
  const main = html`<p>
      The scale says which ratings mean "as bad as possible" and "as good as possible". Satisfaction follows from it.
    </p>
    ${all.map((each) => sourceSection(site, each))}`
  return { title: 'Settings', main }
}

const withoutSettings = (source: string): ShownSettings => ({
  source,
  ratings: 0,
  leastRating: null,
  mostRating: null,
  scale: null,
  isScaleGiven: false,
  link: null,
  fields: [],
})

const sourceSection = (
  site: Site,
  { source, ratings, scale, isScaleGiven, link, fields, ...range }: ShownSettings,
): Html => {
  const lines = fields.map(({ name, path, of }) => `${name} ${of} ${path}`).join('\n')
  const seen =
    ratings === 0
      ? 'No ratings.'
      : `${plural(ratings, 'rating')} from ${decimal(range.leastRating)} to ${decimal(range.mostRating)}.`
  const scaleText = scale === null ? (isScaleGiven ? 'none' : '') : `${scale[0]} ${scale[1]}`
  return html`<section>
    <h2>${label(source)}</h2>
    <p>
      ${seen}
      ${isScaleGiven ? 'A person gave the scale.' : scale === null ? 'Its scale is unknown.' : 'Its ratings show the scale.'}
    </p>
    ${changeForm(
      site,
      { path: '/settings', act: 'source', submit: 'Save' },
      html`<input type="hidden" name="source" value="${source}" />
        <label>
          Scale, such as <code>1 5</code>; <code>none</code>; empty: as the ratings show it
          <input name="scale" value="${isScaleGiven ? scaleText : ''}" placeholder="${scaleText}" />
        </label>
        <label>
          Address of a record in the source, with <code>{sourceId}</code>
          <input name="link" value="${link ?? ''}" maxlength="2000" />
        </label>
        <label>
          Fields, one a line: name, then <code>feedback</code>, <code>contact</code> or <code>account</code>, then the
          member, such as <code>plan account subscription.plan</code>
          <textarea name="fields" rows="3">${lines}</textarea>
        </label>`,
    )}
  </section>`
}

/** The settings that a form of this page has, for the same check as those of a program. */
export const sourceForm = (form: URLSearchParams): JsonObject => {
  const scale = (form.get('scale') ?? '').trim()
  const numbers = scale.split(/[\s,;]+|\.\./).map(Number)
  const link = (form.get('link') ?? '').trim()
  const fields = (form.get('fields') ?? '').split(/\r?\n/).flatMap((line) => {
    const [name = '', of = '', ...path] = line.trim().split(/\s+/)
    return name === '' ? [] : [{ name, of, path: path.join(' ') }]
  })
  return {
    ...(scale !== '' && { scale: scale === 'none' ? null : numbers }),
    link: link === '' ? null : link,
    fields,
  }
}
