import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pageFile, readFileOnce, type SendOpenFile } from '../page-files.ts'
import { refusalResponse } from '../http/refusal.ts'
import type { Handler } from '../serve.ts'

type DocsOptions = {
  /** The path of the page, of one segment, such as `/docs`. */
  readonly basePath: string
  /** The path of the document that the page shows, such as `/openapi.json`. */
  readonly documentPath: string
  readonly sendFile: SendOpenFile
}

/** The files of Swagger UI that the page needs. No other file of the package is served. */
const SWAGGER_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png', 'favicon-16x16.png'] as const

const CACHED = { 'Cache-Control': 'public, max-age=3600' }

/** The API reference, open without a token, as a page that loads nothing from other hosts. */
export const createDocs = ({ basePath, documentPath, sendFile }: DocsOptions): Handler => {
  const made: Readonly<Record<string, () => Response>> = {
    '': () => page(`${basePath.slice(1)}/`),
    '/': () => page(''),
    '/start.js': () => pageFile('start.js', startScript(documentPath), CACHED),
    '/page.css': () => pageFile('page.css', STYLE, CACHED),
  }
  const files = new Map(SWAGGER_FILES.map((name) => [`/${name}`, name]))
  return async (request) => {
    const path = new URL(request.url).pathname.slice(basePath.length)
    const make = Object.hasOwn(made, path) ? made[path] : undefined
    if (make) return make()
    const file = files.get(path)
    return file === undefined
      ? refusalResponse({ refused: 'not-found' })
      : sendFile(file, await readFileOnce(join(swaggerFolder(), file)), CACHED)
  }
}

/** `folder`: the path of the files of the page, relative to the address of the page. */
const page = (folder: string): Response =>
  pageFile(
    'page.html',
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Feedback Insights: API reference</title>
    <link rel="stylesheet" href="${folder}swagger-ui.css" />
    <link rel="stylesheet" href="${folder}page.css" />
    <link rel="icon" type="image/png" sizes="32x32" href="${folder}favicon-32x32.png" />
    <link rel="icon" type="image/png" sizes="16x16" href="${folder}favicon-16x16.png" />
  </head>
  <body>
    <div id="reference"></div>
    <script src="${folder}swagger-ui-bundle.js"></script>
    <script src="${folder}start.js"></script>
  </body>
</html>
`,
  )

/**
 * The page keeps no token in the browser, and asks no validator on the internet about the document.
 * It fetches the document by an absolute URL without credentials. The address of the page may
 * contain a token (http://op:TOKEN@host/), and `fetch` refuses a URL that is relative to such an
 * address.
 */
const startScript = (documentPath: string): string => `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
SwaggerUIBundle({
  url: location.origin + new URL(${JSON.stringify(`..${documentPath}`)}, document.currentScript.src).pathname,
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
})
`

/**
 * In dark mode, Swagger UI leaves some names as dark as their background. On a phone, the page
 * shows only the descriptions of refusals, hides links and types of headers, and stacks columns:
 * otherwise it would be thousands of pixels high.
 */
const STYLE = `body {
  margin: 0;
}
html:not(.dark-mode) body {
  background: #fafafa;
}
.swagger-ui summary {
  font-size: 14px;
  line-height: 1.6;
  cursor: pointer;
}
.dark-mode .swagger-ui :is(td.header-col, .examples-select__section-label) {
  color: #e4e6e6;
}
@media (max-width: 40rem) {
  .swagger-ui .response:not([data-code^='2']) .response-col_description > :not(.response-col_description__inner) {
    display: none;
  }
  .swagger-ui :is(.parameters, .headers, .responses-table) :is(tbody, tr, td) {
    display: block;
    width: auto;
    max-width: none;
    padding: 2px 0;
  }
  .swagger-ui :is(.parameters, .headers, .responses-table) tr {
    margin-bottom: 8px;
  }
  .swagger-ui .responses-table td.response-col_status {
    float: left;
    min-width: 0;
    margin-right: 10px;
    font-weight: bold;
  }
  .swagger-ui .responses-table td.response-col_links,
  .swagger-ui :is(.parameters, .headers, .responses-table) > thead,
  .swagger-ui .headers td.header-col:last-child {
    display: none;
  }
  .swagger-ui .headers p,
  .swagger-ui .response-col_description__inner p {
    margin: 0;
  }
}
`

const swaggerFolder = (): string => dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
