import { asUuid } from '../contract/identity/keys.ts'
import { accountPage, accountsPage, customerPage } from './account-pages.ts'
import { conversationPage, conversationsPage } from './conversation-pages.ts'
import { feedbackListPage } from './feedback-list.ts'
import { feedbackPage } from './feedback-page.ts'
import { firstPage } from './first.ts'
import { findPage, groupsPage, sourcesPage } from './group-pages.ts'
import { html, type Html } from './html.ts'
import { settingsPage } from './settings-page.ts'
import { themePage, themesPage } from './themes-page.ts'
import {
  type PageAsked,
  changeForm,
  NO_RECORD,
  type NoPage,
  type InsightPage,
  linkTo,
  type Form,
  type Site,
} from './site.ts'

type ShowPage = (asked: PageAsked, id: string) => Promise<InsightPage | NoPage>

const LISTS: Readonly<Record<string, ShowPage>> = {
  '': firstPage,
  '/feedback': feedbackListPage,
  '/themes': themesPage,
  '/accounts': accountsPage,
  '/sources': sourcesPage,
  '/groups': groupsPage,
  '/conversations': conversationsPage,
  '/find': findPage,
  '/settings': settingsPage,
}
const RECORDS: Readonly<Record<string, ShowPage>> = {
  '/feedback': feedbackPage,
  '/themes': themePage,
  '/accounts': accountPage,
  '/customers': customerPage,
  '/conversations': conversationPage,
}

/** The page at a path below `/insights`; undefined if there is none. */
export const pageAt = (path: string): ((asked: PageAsked) => Promise<InsightPage | NoPage>) | undefined => {
  const [, folder = '', id] = /^(\/[a-z]+)?(?:\/([^/]+))?$/.exec(path) ?? [undefined, path]
  const show = Object.hasOwn(LISTS, folder) ? LISTS[folder] : undefined
  if (id === undefined) return show && ((asked) => show(asked, ''))
  const showOne = Object.hasOwn(RECORDS, folder) ? RECORDS[folder] : undefined
  const own = asUuid(id)
  return showOne && (async (asked) => (own === undefined ? NO_RECORD : showOne(asked, own)))
}

export const problemPage = (site: Site, problems: readonly string[]): InsightPage => ({
  title: 'That did not work',
  main: html`<div role="alert" class="problem">${problems.map((problem) => html`<p>${problem}</p>`)}</div>
    <p>${linkTo(site, { path: '' }, 'What changed')}</p>`,
})

type ShownChange = { readonly done: string; readonly back: string; readonly undo?: Form & { readonly source?: string } }

/** What was changed, with the form that takes it back. */
export const changedPage = (site: Site, { done, back, undo }: ShownChange): InsightPage => ({
  title: 'Done',
  main: html`<div role="status" class="done"><p>${done}</p></div>
    ${undo === undefined ? html`` : changeForm(site, undo, sourceOf(undo.source))}
    <p>${linkTo(site, { path: back }, 'Back')}</p>`,
})

const sourceOf = (source: string | undefined): Html =>
  source === undefined ? html`` : html`<input type="hidden" name="source" value="${source}" />`
