import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const pathOf = (program: string): string =>
  spawnSync('sh', ['-c', 'command -v "$0"', program], { encoding: 'utf8' }).stdout.trim()

/** The path of the program that CHROMIUM names, or else of a Chromium on the PATH. */
export const chromiumProgram = [
  process.env['CHROMIUM'] ?? 'chromium',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'chrome-headless-shell',
]
  .map(pathOf)
  .find((path) => path !== '')
export const whyNoBrowser =
  chromiumProgram === undefined ? 'Chromium is neither on the PATH nor named by CHROMIUM' : undefined

/** A container may lack user namespaces and shared memory. */
const OPTIONS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-dev-shm-usage',
]

/** Starts a headless Chromium with a profile of its own. */
export const startBrowser = (): Promise<Browser> => chromium.launch({ executablePath: chromiumProgram!, args: OPTIONS })

/** A page in a context of its own, which closes with it. */
export type OpenedPage = {
  readonly page: Page
  /** All requested addresses. */
  readonly requested: readonly string[]
  /** Uncaught errors of scripts, and errors that the browser logs, such as of the page's policy. */
  readonly complaints: readonly string[]
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** Opens an empty page. */
export const openPage = async (browser: Browser, options: BrowserContextOptions = {}): Promise<OpenedPage> => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, requested, complaints, [Symbol.asyncDispose]: () => context.close() }
}

/** Asserts that nothing is wider than the page. */
export const assertFits = async (page: Page): Promise<void> => {
  const beyond = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  assert.equal(beyond, 0, page.url())
}

/** Asserts that all texts of the page have enough contrast. */
export const assertContrast = async (page: Page): Promise<void> => {
  const { contrast, of } = await page.evaluate<{ contrast: number; of: string }>(LEAST_CONTRAST)
  assert.ok(contrast >= SMALLEST_CONTRAST, `${of}: ${contrast}`)
}

/**
 * Takes a picture of the whole page, which must have more than 10 kB. Saves it in the folder that
 * PICTURES names, if it is set.
 */
export const keepPicture = async (page: Page, name: string): Promise<void> => {
  const picture = await page.screenshot({ fullPage: true })
  assert.ok(picture.length > 10_000)
  const folder = process.env['PICTURES']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.png`), picture)
}

/** The required contrast of a text (WCAG 2, AA). */
const SMALLEST_CONTRAST = 4.5

/**
 * Code for the page. Returns the least contrast (WCAG 2) of a text with its background, and the
 * beginning of this text.
 */
export const LEAST_CONTRAST = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number)
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor
      if (channels(color)[3] !== 0) return color
    }
    return 'rgb(255, 255, 255)'
  }
  const texts = [...document.querySelectorAll('body *')].filter((element) =>
    element.checkVisibility() && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  return texts.map((element) => {
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((x, y) => y - x)
    return { contrast: (a + 0.05) / (b + 0.05), of: element.textContent.trim().slice(0, 40) }
  }).sort((x, y) => x.contrast - y.contrast)[0]
})()`
