import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The template of the page, without links to other hosts. The page has to work without the
 * internet, and must send no request to other hosts.
 */
export const readTemplate = (folder: string): string =>
  readFileSync(join(folder, 'index.ejs'), 'utf8').replaceAll(/<link\b[^>]*\bhref="(?:https?:)?\/\/[^>]*>/gi, '')

/**
 * Adds `FIRST_SCRIPT` and a link to the overview. Bull Board itself shows custom links only in a
 * menu.
 */
export const withScriptAndLink = (template: string, { basePath, overviewPath }: Paths): string => {
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
 * Bull Board takes the address of its folder from the page, and cannot use a relative address. Only
 * the browser knows the whole address, since a proxy may have the service below a path.
 *
 * An address may contain the token (http://op:TOKEN@host/). Browsers fetch nothing relative to such
 * an address. So the script opens the address without the token. The browser remembers the token.
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

/** The folder of the board, relative to its page at `pathname`. */
export const wayTo = (basePath: string, pathname: string): string => {
  const depth = pathname.slice(basePath.length).split('/').length - 2
  return depth < 0 ? basePath.slice(basePath.lastIndexOf('/') + 1) : './' + '../'.repeat(depth)
}
