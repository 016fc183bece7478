import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'

/** A value of the protocol or of a page. A test with a wrong assumption about its form fails. */
type Json = ReturnType<typeof JSON.parse>
type Message = { id?: number; method?: string; sessionId?: string; params?: Json; result?: Json; error?: object }
type Send = <T = Json>(method: string, params?: object, sessionId?: string) => Promise<T>

export type PageOptions = {
  width?: number
  height?: number
  colors?: 'light' | 'dark'
  /** The password for Basic authentication as `operator`. */
  password?: string
}

export type Page = {
  /** The value of an expression in the page; a promise is awaited. */
  evaluate: <T = Json>(expression: string) => Promise<T>
  /** Asserts that nothing is wider than the page, and that all texts have enough contrast. */
  assertReadable: () => Promise<void>
  /**
   * Takes a picture of the whole page, which must have more than 10 kB. Saves it in the folder that
   * PICTURES names, if it is set.
   */
  keep: (name: string) => Promise<void>
  /** All requested addresses. */
  readonly requested: readonly string[]
  /** Uncaught errors of scripts, and errors that the browser logs, such as of the page's policy. */
  readonly complaints: readonly string[]
}

export type Browser = { open: (url: string, options?: PageOptions) => Promise<Page>; close: () => Promise<void> }

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

const NAVIGATED = /navigated or closed/
// A container may lack user namespaces and shared memory.
const OPTIONS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--remote-debugging-port=0']

/** Starts a headless Chromium with its own profile, controlled by its DevTools protocol. */
export const startBrowser = async (): Promise<Browser> => {
  const profile = mkdtempSync(join(tmpdir(), 'feedback-insights-browser-'))
  const child = spawn(chromiumProgram!, [...OPTIONS, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const socket = new WebSocket(await addressOf(child))
  await once(socket, 'open')
  const listeners = new Set<(message: Message) => void>()
  const send = protocolOver(socket, listeners)
  return {
    open: (url, options = {}) => openPage({ send, listeners }, url, options),
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

const addressOf = async (child: ChildProcess): Promise<string> => {
  const output: string[] = []
  for await (const line of createInterface({ input: child.stderr! })) {
    output.push(line)
    const [, address] = /DevTools listening on (\S+)/.exec(line) ?? []
    if (address !== undefined) return address
  }
  throw new Error(`Chromium ended: ${output.join('\n')}`)
}

const protocolOver = (socket: WebSocket, listeners: ReadonlySet<(message: Message) => void>): Send => {
  const waiting = new Map<number, (message: Message) => void>()
  let last = 0
  socket.addEventListener('message', ({ data }) => {
    const message: Message = JSON.parse(String(data))
    if (message.id === undefined) for (const listener of listeners) listener(message)
    else waiting.get(message.id)?.(message)
  })
  return async <T>(method: string, params: object = {}, sessionId?: string) => {
    const id = ++last
    const answered = new Promise<Message>((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }))
    const { result, error } = await answered
    waiting.delete(id)
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result as T
  }
}

type Protocol = { send: Send; listeners: Set<(message: Message) => void> }

const openPage = async (
  { send, listeners }: Protocol,
  url: string,
  { width = 800, height = 900, colors = 'light', password = '' }: PageOptions,
): Promise<Page> => {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true })
  const ask: Send = (method, params) => send(method, params, sessionId)
  const requested: string[] = []
  const complaints: string[] = []
  listeners.add(({ method, params, sessionId: receiver }) => {
    if (receiver !== sessionId) return
    if (method === 'Fetch.requestPaused') {
      requested.push(params.request.url)
      void ask('Fetch.continueRequest', { requestId: params.requestId })
    }
    if (method === 'Fetch.authRequired') void ask('Fetch.continueWithAuth', credentialsFor(params, password))
    if (method === 'Runtime.exceptionThrown') complaints.push(JSON.stringify(params.exceptionDetails))
    if (method === 'Log.entryAdded' && params.entry.level === 'error') complaints.push(params.entry.text)
  })
  await ask('Fetch.enable', { handleAuthRequests: true })
  for (const domain of ['Page', 'Runtime', 'Log']) await ask(`${domain}.enable`)
  await ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
  await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: colors }] })
  await ask('Page.navigate', { url })
  const evaluate = async <T>(expression: string): Promise<T> => {
    const asked = { expression, awaitPromise: true, returnByValue: true }
    // A page that navigates meanwhile has no answer; the next page does.
    const { result, exceptionDetails } = await ask('Runtime.evaluate', asked).catch((error: Error) => {
      if (!NAVIGATED.test(error.message)) throw error
      return ask('Runtime.evaluate', asked)
    })
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails))
    return result.value as T
  }
  return {
    requested,
    complaints,
    evaluate,
    assertReadable: async () => {
      assert.equal(await evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'), 0)
      const { contrast, of } = await evaluate<{ contrast: number; of: string }>(LEAST_CONTRAST)
      assert.ok(contrast >= SMALLEST_CONTRAST, `${of}: ${contrast}`)
    },
    keep: async (name) => {
      const { data } = await ask('Page.captureScreenshot', { captureBeyondViewport: true, fromSurface: true })
      const picture = Buffer.from(data, 'base64')
      assert.ok(picture.length > 10_000)
      const folder = process.env['PICTURES']
      if (folder === undefined) return
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${name}.png`), picture)
    },
  }
}

const credentialsFor = ({ requestId }: { requestId: string }, password: string): object => ({
  requestId,
  authChallengeResponse: { response: 'ProvideCredentials', username: 'operator', password },
})

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
