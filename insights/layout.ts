import { html, type Html, trusted } from './html.ts'
import { label } from './parts.ts'
import { changeForm, linkTo, type InsightPage, type Site } from './site.ts'
import type { ViewQuery } from './view.ts'

const PLACES: readonly { path: string; name: string }[] = [
  { path: '', name: 'What changed' },
  { path: '/themes', name: 'Themes' },
  { path: '/accounts', name: 'Accounts' },
  { path: '/sources', name: 'Sources' },
  { path: '/groups', name: 'Groups' },
  { path: '/feedback', name: 'Feedback' },
  { path: '/conversations', name: 'Conversations' },
]
const SETTINGS = { path: '/settings', name: 'Settings' }

type Framed = InsightPage & { readonly path: string; readonly query: ViewQuery }

/** A whole page for a browser. The span of days goes along to the other pages. */
export const framed = (site: Site, { title, main, path, query }: Framed): Html => {
  const span = { createdFrom: query['createdFrom'], createdTo: query['createdTo'] }
  const places = site.may.administer ? [...PLACES, SETTINGS] : PLACES
  return documentOf(
    {
      title: `${title} – ${site.workspace}`,
      head: html`<link rel="stylesheet" href="${site.address!('/style.css')}" />`,
    },
    html`<a class="skip" href="#main">To the content</a>
      <header>
        <p class="workspace">Workspace ${label(site.workspace)}</p>
        <nav aria-label="Pages">
          <ul>
            ${places.map(
              (place) =>
                html`<li>
                  ${
                    isAt(path, place.path)
                      ? html`<a href="${site.address!(place.path, span)}" aria-current="page">${place.name}</a>`
                      : linkTo(site, { path: place.path, query: span }, place.name)
                  }
                </li> `,
            )}
          </ul>
        </nav>
        <search>
          <form action="${site.address!('/find')}">
            <label>Find a name <input name="name" maxlength="200" required /></label>
            <button>Find</button>
          </form>
        </search>
        ${changeForm(site, { path: '/session', act: 'end', submit: 'Sign out' })}
      </header>
      <main id="main" tabindex="-1">
        <h1>${title}</h1>
        ${main}
      </main>
      <footer><p>Days and times are in UTC.</p></footer>`,
  )
}

const isAt = (path: string, place: string): boolean =>
  place === '' ? path === '' : path === place || path.startsWith(`${place}/`)

/** `to`: the address that the reader asked for, below that of the pages. */
type SignIn = { readonly root: string; readonly problem?: string | undefined; readonly to?: string }

/** The page that asks for a token. */
export const signInPage = ({ root, problem, to = '' }: SignIn): Html =>
  documentOf(
    { title: 'Sign in', head: html`<link rel="stylesheet" href="${root}insights/style.css" />` },
    html`<main id="main">
      <h1>What customers say</h1>
      ${problem === undefined ? html`` : html`<p role="alert" class="problem">${problem}</p>`}
      <form method="post" action="${root}insights/session" class="sign-in">
        <input type="hidden" name="act" value="begin" />
        <input type="hidden" name="to" value="${to}" />
        <label>
          Access token, with the scope <code>read</code> or <code>admin</code>
          <input type="password" name="token" autocomplete="current-password" maxlength="200" required />
        </label>
        <button>Sign in</button>
      </form>
      <p class="note">
        An operator makes a token: <code>npm run token -- create --workspace NAME --scope read</code>. With
        <code>--scope read,edit</code> it may also correct tags, kinds and themes. You stay signed in for 12 hours at
        most, and no longer than the token is valid.
      </p>
    </main>`,
  )

/** The pages in one file, which loads no other files. */
export const fileOf = (title: string, style: string, body: Html): Html =>
  documentOf(
    {
      title,
      head: html`<meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        />
        <meta name="referrer" content="no-referrer" />
        <style>
          ${trusted(style)}
        </style>`,
    },
    body,
  )

const documentOf = ({ title, head }: { title: string; head: Html }, body: Html): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="data:," />
        <title>${title}</title>
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html> `
