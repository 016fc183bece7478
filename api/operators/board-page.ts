import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The page without its links to other hosts: it has to work without the internet, and tells no
 * other host that it is open.
 */
export const readTemplate = (folder: string): string =>
  readFileSync(join(folder, 'index.ejs'), 'utf8').replaceAll(/<link\b[^>]*\bhref="(?:https?:)?\/\/[^>]*>/gi, '')

/**
 * A link that every page shows at every width. Bull Board has a place for links of others in a menu
 * alone.
 */
export const withWayBack = (template: string, { basePath, overviewPath }: Paths): string => {
  // The base of the page is the folder of the board.
  const way = '../'.repeat(basePath.split('/').length - 1) + overviewPath.slice(1)
  return template.replace(
    /<body\b[^>]*>/i,
    `$&<script src="${FIRST_SCRIPT.name}"></script><a href="${way}" style="${WAY_BACK_STYLE}">← Overview</a>`,
  )
}

type Paths = { basePath: string; overviewPath: string }

const WAY_BACK_STYLE =
  'position:fixed;right:1rem;bottom:1rem;z-index:9;padding:.4rem .9rem;border-radius:1rem;background:#0b57b0;color:#fff;font:14px system-ui,sans-serif'

/**
 * Bull Board takes the address of its folder from the page as it is written there, and cannot use a
 * relative one. The browser knows the whole, also behind a proxy that has the service below a path.
 *
 * An address may have the token in it (http://op:TOKEN@host/). Browsers fetch nothing from such a
 * page, but know the token from then on.
 */
export const FIRST_SCRIPT = {
  name: 'first.js',
  text: `document.querySelector('base').setAttribute('href', new URL(document.baseURI).pathname)
try {
  new Request('/')
} catch {
  location.replace(location.origin + location.pathname + location.search + location.hash)
}
`,
} as const

/** The folder of the board, seen from a page in it or from its own address without a slash. */
export const wayTo = (basePath: string, pathname: string): string => {
  const depth = pathname.slice(basePath.length).split('/').length - 2
  return depth < 0 ? basePath.slice(basePath.lastIndexOf('/') + 1) : './' + '../'.repeat(depth)
}
