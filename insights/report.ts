import { accountsPage } from './account-pages.ts'
import { firstPage } from './first.ts'
import { groupsPage, sourcesPage } from './group-pages.ts'
import { html, type Html } from './html.ts'
import { fileOf } from './layout.ts'
import { label } from './parts.ts'
import type { InsightReads } from './reads.ts'
import type { PageAsked, InsightPage, Site } from './site.ts'
import { readListed, textList } from './text-list.ts'
import { readThemes } from './theme-names.ts'
import { themesPage } from './themes-page.ts'
import { type ViewQuery, readView, spannedOf } from './view.ts'

const THEMES_WITH_TEXTS = 8
const TEXTS_OF_A_THEME = 3

type ReportAsked = {
  readonly workspace: string
  /** The first and the last day, or times. */
  readonly span: ViewQuery
  readonly now: Date
  readonly style: string
}

/** The pages in one file, without links and forms: the summary first, then themes, accounts and sources. */
export const makeReport = async (
  reads: InsightReads,
  { workspace, span, now, style }: ReportAsked,
): Promise<{ file: Html; feedback: number }> => {
  const site: Site = { workspace, now, address: undefined, may: { edit: false, administer: false }, formToken: '' }
  const view = readView(new URLSearchParams(span as Record<string, string>))
  if ('problems' in view) throw new Error(view.problems.join(' '))
  const asked: PageAsked = { site, view, reads }
  const pages: InsightPage[] = []
  for (const show of [firstPage, themesPage, textsOfThemes, accountsPage, sourcesPage]) pages.push(await show(asked))
  pages.push(await groupsPage({ ...asked, view: { ...view, by: 'tag' } }))
  const { filters, after } = spannedOf(view, now)
  const within = { ...filters, createdFrom: after.from, createdTo: after.to }
  const { total } = await reads.count({ by: ['source'], filters: within, limit: 1 })
  return { file: fileOf(`What customers say: ${workspace}`, style, bodyOf(site, pages)), feedback: total.feedback }
}

const bodyOf = ({ workspace, now }: Site, pages: readonly InsightPage[]): Html =>
  html`<header>
      <h1>What customers say</h1>
      <p>Workspace ${label(workspace)}</p>
    </header>
    <main>
      ${pages.map(
        ({ title, main }) =>
          html`<article>
            <h2 class="chapter">${title}</h2>
            ${main}
          </article>`,
      )}
    </main>
    <footer>
      <p>
        Made ${now.toISOString().slice(0, 10)} by <code>npm run report</code>. Days and times are in UTC. This file has
        names and texts of customers. A purge does not remove it, so delete it after reading.
      </p>
    </footer>`

/** The latest texts of the themes with the most feedback. */
const textsOfThemes = async (asked: PageAsked): Promise<InsightPage> => {
  const { view, site, reads } = asked
  const { filters, after } = spannedOf(view, site.now)
  const within = { ...filters, createdFrom: after.from, createdTo: after.to }
  const names = new Map((await readThemes(reads)).map(({ id, name }) => [id, name]))
  const { top } = await reads.count({ by: ['theme'], filters: within, limit: THEMES_WITH_TEXTS })
  const sections: Html[] = []
  for (const { keys } of top) {
    const themeId = keys[0]!.key
    if (themeId === null) continue
    const list = { kind: 'feedback', isOldestFirst: false, limit: TEXTS_OF_A_THEME } as const
    const { records } = await readListed(reads, { ...list, filters: { ...within, themeId } }, undefined)
    sections.push(
      html`<section>
        <h2>${label(names.get(themeId) ?? '')}</h2>
        ${await textList(asked, records)}
      </section>`,
    )
  }
  return { title: 'Examples', main: html`${sections}` }
}
